// node main.mjs [--program FILE] [--keep] [--write FILE] [CLIENT…]: takes clients through the scenarios, one after the
// other, and prints a table. --write puts the table into a file between its marks; --keep keeps the worlds.
import fs from 'node:fs';
import path from 'node:path';
import { parseArgs } from 'node:util';

import { CLIENTS, versionOf } from './clients.mjs';
import { Model } from './model.mjs';
import { SCENARIOS } from './scenarios.mjs';
import { World } from './world.mjs';

// A research of the simulator takes some seconds at this pace.
const PACE = 0.02;

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { program: { type: 'string' }, keep: { type: 'boolean' }, write: { type: 'string' } },
});

async function drive(client) {
  const world = new World(path.resolve(values.program), client.package.replace(/\W/g, '-'));
  const model = new Model();
  const run = { client, world, model, url: await model.listen() };
  const cells = [];
  let failed = false;
  try {
    await world.simulate(PACE);
    client.setup(world, run.url);
    if (client.connect) world.connect(client);
    for (const [name, scenario] of SCENARIOS) {
      try {
        cells.push(await scenario(run));
        console.log(`ok ${client.name}: ${name}: ${cells.at(-1)}`);
      } catch (error) {
        failed = true;
        cells.push('FAILED');
        console.log(`not ok ${client.name}: ${name}: ${error.message}`);
      }
    }
  } finally {
    model.close();
    if (values.keep) console.log(`# ${world.root}`);
    world.close(values.keep);
  }
  return { row: [`${client.name} ${versionOf(client)}`, ...cells], failed };
}

function table(rows) {
  const line = (cells) => `| ${cells.join(' | ')} |`;
  const head = ['client', ...SCENARIOS.map(([name]) => name)];
  return [line(head), line(head.map(() => '---')), ...rows.map(line)].join('\n');
}

const wanted = (client) =>
  !positionals.length || positionals.some((name) => client.name.toLowerCase().includes(name.toLowerCase()));
const rows = [];
let failed = false;
for (const client of CLIENTS.filter(wanted)) {
  const driven = await drive(client);
  rows.push(driven.row);
  failed ||= driven.failed;
}
console.log(`\n${table(rows)}`);
if (values.write) {
  const marks = /(<!-- results -->\n)[^]*?(<!-- end of results -->)/;
  const before = fs.readFileSync(values.write, 'utf8');
  fs.writeFileSync(values.write, before.replace(marks, (_all, from, to) => `${from}${table(rows)}\n${to}`));
}
process.exit(failed ? 1 : 0);

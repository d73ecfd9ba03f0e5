// A world for one client: a home, a project, a copy of the program, an upstream, a key in a file, and the processes
// that run in it.
import { spawn, spawnSync } from 'node:child_process';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import readline from 'node:readline';

// No wait comes near to this; it keeps a broken client from holding up the run.
const PATIENCE_MS = 120_000;

export const KEY = 'BSAkeyforagents0123456789';
export const BUDGET_USD = '7.25';

export class World {
  constructor(program, name) {
    this.root = fs.mkdtempSync(path.join(os.tmpdir(), `glovebox-${name}-`));
    this.home = this.#folder('home');
    this.project = this.#folder('project');
    this.state = this.#folder('state');
    this.program = path.join(this.#folder('bin'), 'glovebox');
    fs.copyFileSync(program, this.program);
    fs.chmodSync(this.program, 0o755);
    this.keyFile = path.join(this.root, 'key');
    fs.writeFileSync(this.keyFile, `${KEY}\n`, { mode: 0o600 });
    spawnSync('git', ['init', '-q', this.project]);
  }

  #folder(name) {
    const folder = path.join(this.root, name);
    fs.mkdirSync(folder, { recursive: true });
    return folder;
  }

  write(name, text, mode = 0o644) {
    const file = path.join(this.root, name);
    fs.mkdirSync(path.dirname(file), { recursive: true });
    fs.writeFileSync(file, typeof text === 'string' ? text : JSON.stringify(text, null, 2), { mode });
    return file;
  }

  // What every process of this world has in its environment. Nothing of this machine's settings.
  environment(more = {}) {
    return {
      PATH: process.env.PATH,
      HOME: this.home,
      LANG: 'C.UTF-8',
      TERM: 'dumb',
      CI: 'true',
      NO_COLOR: '1',
      DO_NOT_TRACK: '1',
      NO_PROXY: '127.0.0.1,localhost',
      // Compiled code is no state.
      XDG_CACHE_HOME: path.join(os.tmpdir(), 'glovebox-agents-cache'),
      ...more,
    };
  }

  // What a person who uses the program has in the environment of the shell.
  settings() {
    return { BRAVE_ANSWERS_KEY_FILE: this.keyFile, GLOVEBOX_STATE_DIR: this.state };
  }

  // Starts the simulator. What it kept is at /__sim/log.
  async simulate(pace) {
    const child = spawn(this.program, ['simulate', '--pace', String(pace)], {
      env: this.environment(),
      stdio: ['ignore', 'pipe', 'ignore'],
    });
    this.simulator = child;
    const lines = readline.createInterface({ input: child.stdout });
    const [url] = await new Promise((done) => lines.once('line', (line) => done([line.trim()])));
    this.upstream = url;
  }

  // Runs the program itself.
  glovebox(...args) {
    const ran = spawnSync(this.program, args, {
      env: this.environment(this.settings()),
      cwd: this.project,
      encoding: 'utf8',
    });
    if (ran.status !== 0) throw new Error(`glovebox ${args.join(' ')}: ${ran.stderr}${ran.stdout}`);
    return ran.stdout;
  }

  // Writes the client's entry of the server, as a person would.
  connect(client) {
    this.glovebox('connect', client.connect, '--write', ...this.flags());
  }

  flags() {
    return ['--upstream', this.upstream, '--budget-usd-per-day', BUDGET_USD];
  }

  // Calls a tool as a client that shows the text alone. Gives the text.
  async call(name, args) {
    const child = spawn(this.program, ['stdio', ...this.flags(), '--structured', 'off'], {
      env: this.environment(this.settings()),
      stdio: ['pipe', 'pipe', 'ignore'],
    });
    const send = (message) => child.stdin.write(`${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`);
    const clientInfo = { name: 'text', version: '1' };
    send({ id: 1, method: 'initialize', params: { protocolVersion: '2025-11-25', capabilities: {}, clientInfo } });
    send({ method: 'notifications/initialized' });
    send({ id: 2, method: 'tools/call', params: { name, arguments: args } });
    for await (const line of readline.createInterface({ input: child.stdout })) {
      const { id, result } = JSON.parse(line);
      if (id !== 2) continue;
      child.stdin.end();
      return result.content[0].text;
    }
    throw new Error(`${name} gave no result`);
  }

  // Waits until the upstream has a request that holds the text, and fails when `ended` says that none will come.
  async upstreamSees(text, ended) {
    for (;;) {
      const log = await (await fetch(`${this.upstream}/__sim/log`)).text();
      if (log.includes(text)) return;
      if (ended()) throw new Error(`the client ended before the upstream saw ${text}`);
      await new Promise((next) => setTimeout(next, 50));
    }
  }

  // Runs a command of a client to its end.
  once([command, ...args]) {
    const ran = spawnSync(command, args, { env: this.environment(), cwd: this.project, encoding: 'utf8' });
    if (ran.status !== 0) throw new Error(`${command} ${args.join(' ')}: ${ran.stderr}${ran.stdout}`);
    return ran.stdout;
  }

  jobs() {
    return JSON.parse(this.glovebox('jobs', 'list', '--json'));
  }

  // Starts a client. `ended` gives { code, out } once it has.
  start({ argv, env, stdin }) {
    const [command, ...args] = argv;
    const child = spawn(command, args, {
      env: this.environment({ ...this.settings(), ...env }),
      cwd: this.project,
      stdio: [stdin === undefined ? 'ignore' : 'pipe', 'pipe', 'pipe'],
      detached: true,
    });
    if (stdin !== undefined) child.stdin.end(stdin);
    let out = '';
    for (const stream of [child.stdout, child.stderr]) {
      stream.setEncoding('utf8');
      stream.on('data', (part) => (out += part));
    }
    const timer = setTimeout(() => this.kill(), PATIENCE_MS);
    const client = { child, gone: false };
    client.ended = new Promise((done) =>
      child.on('close', (code, signal) => {
        clearTimeout(timer);
        client.gone = true;
        done({ code: code ?? signal, out });
      }),
    );
    return client;
  }

  // Kills a client with all that it has started, daemons too, but for the program: that has to notice by itself.
  kill() {
    for (const { pid } of this.#inhabitants().filter(({ exe }) => exe !== this.program)) end(pid);
  }

  // All processes that have this world's home.
  #inhabitants() {
    return processes().filter(({ home }) => home === this.home);
  }

  // The processes of the program that are there, but for the simulator.
  left() {
    return processes().filter(({ exe, pid }) => exe === this.program && pid !== this.simulator?.pid);
  }

  // Waits until none is left. Processes of others cannot be waited for in any other way than by looking.
  async empty(within = 30_000) {
    const until = Date.now() + within;
    while (this.left().length) {
      if (Date.now() > until) {
        throw new Error(`still there: ${this.left().map(({ pid, args }) => `${pid} ${args}`).join('; ')}`);
      }
      await new Promise((next) => setTimeout(next, 50));
    }
  }

  // Ends what is left, and removes the world unless it is to be looked at.
  close(keep) {
    this.simulator?.kill();
    for (const { pid } of [...this.#inhabitants(), ...this.left()]) end(pid);
    if (!keep) fs.rmSync(this.root, { recursive: true, force: true, maxRetries: 5 });
  }
}

function end(pid) {
  try {
    process.kill(pid, 'SIGKILL');
  } catch {
    // It has ended meanwhile.
  }
}

function processes() {
  return fs
    .readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .flatMap((name) => {
      try {
        const args = fs.readFileSync(`/proc/${name}/cmdline`, 'utf8').replaceAll('\0', ' ').trim();
        const environment = fs.readFileSync(`/proc/${name}/environ`, 'utf8').split('\0');
        const home = environment.find((pair) => pair.startsWith('HOME='))?.slice('HOME='.length);
        return [{ pid: Number(name), args, exe: fs.readlinkSync(`/proc/${name}/exe`), home }];
      } catch {
        // It has ended meanwhile, or is another user's.
        return [];
      }
    });
}

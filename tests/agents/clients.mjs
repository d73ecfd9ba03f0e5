// The clients: their package, how each is set up in a world, and the command of a turn.
//
// `setup(world, url)` writes the client's own settings, which name the model at `url`; `connect` is the client's name
// for `glovebox connect`; `turn(world, url, prompt, again)` gives the command of a turn, `again` to go on with the last
// conversation, which a client that `forgets` cannot. Each runs without the client's telemetry, updates and sign-in.
import fs from 'node:fs';
import path from 'node:path';

const HERE = import.meta.dirname;
const npm = (name) => path.join(HERE, 'node_modules/.bin', name);
const python = path.join(HERE, '.venv/bin/python');

const opencode = {
  name: 'opencode',
  package: 'opencode-ai',
  connect: 'opencode',
  setup(world, url) {
    world.write('home/.config/opencode/opencode.json', {
      autoupdate: false,
      share: 'disabled',
      model: 'scripted/scripted',
      small_model: 'scripted/scripted',
      provider: {
        scripted: {
          npm: '@ai-sdk/openai-compatible',
          name: 'Scripted',
          options: { baseURL: `${url}/v1`, apiKey: 'none' },
          models: { scripted: { name: 'scripted', limit: { context: 200_000, output: 8_000 } } },
        },
      },
    });
  },
  turn: (_world, _url, prompt, again) => ({
    argv: [npm('opencode'), 'run', ...(again ? ['--continue'] : []), prompt],
    env: { OPENCODE_DISABLE_AUTOUPDATE: '1', OPENCODE_DISABLE_LSP_DOWNLOAD: '1', OPENCODE_DISABLE_MODELS_FETCH: '1' },
  }),
};

const claudeCode = {
  name: 'Claude Code',
  package: '@anthropic-ai/claude-code',
  connect: 'claude-code',
  setup() {},
  turn: (_world, url, prompt, again) => ({
    argv: [npm('claude'), ...(again ? ['--continue'] : []), '--allowedTools', 'mcp__glovebox', '-p', prompt],
    env: {
      ANTHROPIC_BASE_URL: url,
      ANTHROPIC_API_KEY: 'none',
      CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: '1',
      DISABLE_TELEMETRY: '1',
      DISABLE_AUTOUPDATER: '1',
      DISABLE_ERROR_REPORTING: '1',
      // A search for tools takes a turn of its own before the first call.
      ENABLE_TOOL_SEARCH: 'false',
    },
  }),
};

const codex = {
  name: 'Codex',
  package: '@openai/codex',
  connect: 'codex',
  setup(world, url) {
    world.write(
      'home/.codex/config.toml',
      `model = "scripted"
model_provider = "scripted"
check_for_update_on_startup = false

[analytics]
enabled = false

[model_providers.scripted]
name = "scripted"
base_url = "${url}/v1"
wire_api = "responses"
requires_openai_auth = false
`,
    );
  },
  turn: (_world, _url, prompt, again) => ({
    argv: [
      npm('codex'),
      'exec',
      ...(again ? ['resume', '--last'] : []),
      '--skip-git-repo-check',
      // Without a person nothing is approved that costs money. Cancelling has to work all the same.
      ...['answers', 'research_submit'].flatMap(allowed),
      prompt,
    ],
    env: {},
  }),
};

function allowed(tool) {
  return ['-c', `mcp_servers.glovebox.tools.${tool}.approval_mode="approve"`];
}

const gemini = {
  name: 'Gemini CLI',
  package: '@google/gemini-cli',
  connect: 'gemini',
  setup(world) {
    world.write('home/.gemini/settings.json', {
      general: { disableAutoUpdate: true, disableUpdateNag: true },
      privacy: { usageStatisticsEnabled: false },
      telemetry: { enabled: false },
      security: { auth: { selectedType: 'gemini-api-key' } },
    });
  },
  turn: (_world, url, prompt, again) => ({
    argv: [npm('gemini'), ...(again ? ['--resume', 'latest'] : []), '-m', 'gemini-2.5-flash', '--skip-trust', '--yolo', '-p', prompt],
    env: { GEMINI_API_KEY: 'none', GOOGLE_GEMINI_BASE_URL: url },
  }),
};

const copilot = {
  name: 'Copilot CLI',
  package: '@github/copilot',
  connect: 'copilot',
  setup() {},
  turn: (_world, url, prompt, again) => ({
    argv: [npm('copilot'), ...(again ? ['--continue'] : []), '--allow-all-tools', '-p', prompt],
    env: {
      COPILOT_OFFLINE: 'true',
      COPILOT_AUTO_UPDATE: 'false',
      COPILOT_PROVIDER_BASE_URL: `${url}/v1`,
      COPILOT_PROVIDER_API_KEY: 'none',
      COPILOT_MODEL: 'scripted',
    },
  }),
};

const qwen = {
  name: 'Qwen Code',
  package: '@qwen-code/qwen-code',
  connect: 'qwen',
  setup(world) {
    world.write('home/.qwen/settings.json', {
      general: { enableAutoUpdate: false },
      // A search for tools takes a turn of its own before the first call.
      tools: { toolSearch: { enabled: false } },
      privacy: { usageStatisticsEnabled: false },
      telemetry: { enabled: false },
      security: { auth: { selectedType: 'openai' } },
    });
  },
  turn: (_world, url, prompt, again) => ({
    argv: [npm('qwen'), ...(again ? ['--continue'] : []), '--yolo', prompt],
    env: { OPENAI_API_KEY: 'none', OPENAI_BASE_URL: `${url}/v1`, OPENAI_MODEL: 'scripted' },
  }),
};

const cline = {
  name: 'Cline',
  package: 'cline',
  connect: 'cline',
  setup(world, url) {
    world.once([npm('cline'), 'auth', '-p', 'openai-compatible', '-k', 'none', '-m', 'scripted', '-b', `${url}/v1`]);
  },
  // It goes on with a conversation on a terminal only (`--id` with a prompt says so).
  forgets: true,
  turn: (_world, _url, prompt) => ({
    argv: [npm('cline'), '-P', 'openai-compatible', '-m', 'scripted', prompt],
    env: {},
  }),
};

const pydantic = {
  name: 'pydantic-ai',
  package: 'pydantic-ai-slim',
  setup() {},
  turn(world, url, prompt, again) {
    const history = path.join(world.root, 'history.json');
    if (!again) fs.rmSync(history, { force: true });
    const entry = {
      command: world.program,
      args: ['stdio', ...world.flags()],
      env: { HOME: world.home, ...world.settings() },
    };
    return {
      argv: [python, path.join(HERE, 'pydantic_agent.py'), url, history, prompt],
      env: { GLOVEBOX_ENTRY: JSON.stringify(entry) },
    };
  },
};

export const CLIENTS = [opencode, claudeCode, codex, gemini, copilot, qwen, cline, pydantic];

// The version that is installed.
export function versionOf(client) {
  if (client === pydantic) {
    const line = fs.readFileSync(path.join(HERE, 'requirements.txt'), 'utf8').match(/^pydantic-ai-slim==(.*)$/m);
    return line[1];
  }
  return JSON.parse(fs.readFileSync(path.join(HERE, 'node_modules', client.package, 'package.json'), 'utf8')).version;
}

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { ConfigError, readConfig } from '../src/config.ts';

describe('readConfig', () => {
  it('has the defaults of the contract', () => {
    assert.deepEqual(readConfig({}), {
      host: '127.0.0.1',
      port: 8083,
      upstreamUrl: 'http://127.0.0.1:8090',
      sessions: 'stateless',
      transport: 'http',
      workers: 1,
      logLevel: 'info',
    });
  });

  it('reads every variable', () => {
    const env = {
      HOST: '::1',
      PORT: '9000',
      UPSTREAM_URL: 'https://upstream.test:8443/base',
      MCP_SESSIONS: 'stateful',
      MCP_TRANSPORT: 'stdio',
      WORKERS: '1',
      LOG_LEVEL: 'debug',
    };
    assert.deepEqual(readConfig(env), {
      host: '::1',
      port: 9000,
      upstreamUrl: 'https://upstream.test:8443/base',
      sessions: 'stateful',
      transport: 'stdio',
      workers: 1,
      logLevel: 'debug',
    });
  });

  const wrong: [NodeJS.ProcessEnv, string][] = [
    [{ HOST: '' }, 'HOST'],
    [{ HOST: 'http://127.0.0.1' }, 'HOST'],
    [{ PORT: '65536' }, 'PORT'],
    [{ PORT: '-1' }, 'PORT'],
    [{ PORT: '80a' }, 'PORT'],
    [{ UPSTREAM_URL: 'http://127.0.0.1:8090/' }, 'UPSTREAM_URL'],
    [{ UPSTREAM_URL: 'ftp://127.0.0.1' }, 'UPSTREAM_URL'],
    [{ UPSTREAM_URL: '127.0.0.1:8090' }, 'UPSTREAM_URL'],
    [{ UPSTREAM_URL: 'http://127.0.0.1?x=1' }, 'UPSTREAM_URL'],
    [{ MCP_SESSIONS: 'Stateful' }, 'MCP_SESSIONS'],
    [{ MCP_TRANSPORT: 'sse' }, 'MCP_TRANSPORT'],
    [{ MCP_TRANSPORT: 'ws' }, 'MCP_TRANSPORT'],
    [{ WORKERS: '0' }, 'WORKERS'],
    [{ WORKERS: '1.5' }, 'WORKERS'],
    [{ WORKERS: '2', MCP_SESSIONS: 'stateful' }, 'WORKERS'],
    [{ WORKERS: '2', MCP_TRANSPORT: 'stdio' }, 'WORKERS'],
    [{ LOG_LEVEL: 'trace' }, 'LOG_LEVEL'],
  ];
  for (const [env, variable] of wrong) {
    it(`refuses ${JSON.stringify(env)}`, () => {
      assert.throws(
        () => readConfig(env),
        (error) =>
          error instanceof ConfigError && error.message.startsWith(`${variable}=${JSON.stringify(env[variable])} `),
      );
    });
  }
});

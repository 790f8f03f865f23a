// Closed loop: each of USERS virtual users keeps one session and calls again as soon as it has its
// answer. What is called, and what must come back, is given in the environment:
//
//   MCP_URL   the MCP endpoint
//   USERS     number of virtual users, default 10
//   WARMUP    calls made in it are tagged phase=warmup, default 3s
//   DURATION  of the window after it; calls that begin in it are tagged phase=measure, default 10s
//   WORKLOAD  {"method": "tools/list"} or {"tool": "<name>", "arguments": {...}}
//   EXPECTED  the structuredContent that every answer must equal; for tools/list, the sorted names
//   SAMPLE    each user compares its first answer and every SAMPLE-th after it, default 20
//
// Counts and histograms are written by k6/x/mcp to the directory K6_MCP_HISTOGRAMS.
import exec from 'k6/execution';
import { Client } from 'k6/x/mcp';

const users = wholeNumber('USERS', 10);
const warmup = seconds('WARMUP', '3s');
const duration = seconds('DURATION', '10s');
const sample = wholeNumber('SAMPLE', 20);
const workload = json('WORKLOAD');
const expected = json('EXPECTED');
const call = operation(workload);

export const options = {
  scenarios: {
    closed: {
      executor: 'constant-vus',
      vus: users,
      duration: `${warmup + duration}s`,
      gracefulStop: '30s', // longer than any call of the contract: those in flight at the end still count
    },
  },
};

const client = new Client(required('MCP_URL'), { metrics: 'basic' });

// The state of one user.
let session;
let phase = '';
let measureFrom;
let calls = 0;

export default function () {
  if (session === undefined || !session.alive) {
    session = connect();
  }
  enterPhase();
  const answer = call(session);
  if (calls++ % sample === 0 && answer.ok) {
    const why = fault(answer);
    if (why !== '') {
      answer.reject(why);
    }
  }
}

// All users pass from warm-up to measurement at the same moment, counted from the start of the scenario.
function enterPhase() {
  if (phase === 'measure') {
    return;
  }
  if (phase === '') {
    measureFrom = exec.scenario.startTime + warmup * 1000;
  }
  const now = Date.now() < measureFrom ? 'warmup' : 'measure';
  if (now !== phase) {
    phase = now;
    exec.vu.metrics.tags.phase = phase; // looking up the tags costs more than the rest of an iteration
  }
}

// A user without a session would only spin, so the run ends.
function connect() {
  try {
    return client.session();
  } catch (e) {
    exec.test.abort(`no session with ${__ENV.MCP_URL}: ${e.kind}: ${e.message}`);
  }
}

function operation({ tool, arguments: args, method, ...rest }) {
  if (Object.keys(rest).length > 0) {
    throw new Error(`WORKLOAD has an unknown member ${Object.keys(rest)[0]}`);
  }
  if (typeof tool === 'string' && method === undefined) {
    return (s) => s.callTool(tool, args);
  }
  if (method === 'tools/list' && tool === undefined && args === undefined) {
    return (s) => s.listTools();
  }
  throw new Error('WORKLOAD must be {"method": "tools/list"} or {"tool": "<name>", "arguments": {...}}');
}

// What is wrong with an answer, '' when nothing is. An answer that cannot even be read is wrong too.
function fault(answer) {
  try {
    return comparison(answer);
  } catch (e) {
    return `the answer cannot be read: ${e}`;
  }
}

function comparison(answer) {
  if (workload.method === 'tools/list') {
    return difference('', expected, answer.items.map((t) => t.name).sort());
  }
  const parsed = JSON.parse(answer.text()); // the text block must be the same JSON
  return difference('', expected, answer.structuredContent) || difference('text block: ', expected, parsed);
}

// The first difference, as a JSON pointer with both values: numbers by value, objects by key, arrays in order.
function difference(at, want, got) {
  if (want === got) {
    return '';
  }
  if (!isObject(want) || !isObject(got) || Array.isArray(want) !== Array.isArray(got)) {
    return `${at || 'the whole'}: want ${show(want)}, got ${show(got)}`;
  }
  for (const key of new Set([...Object.keys(want), ...Object.keys(got)])) {
    const path = `${at}/${key.replace(/~/g, '~0').replace(/\//g, '~1')}`;
    if (!Object.hasOwn(want, key) || !Object.hasOwn(got, key)) {
      return `${path}: ${Object.hasOwn(want, key) ? 'missing' : 'not expected'}`;
    }
    const found = difference(path, want[key], got[key]);
    if (found !== '') {
      return found;
    }
  }
  return '';
}

function isObject(v) {
  return typeof v === 'object' && v !== null;
}

function show(v) {
  return v === undefined ? 'nothing' : JSON.stringify(v).slice(0, 100);
}

function required(name) {
  const value = __ENV[name];
  if (value === undefined || value === '') {
    throw new Error(`${name} is not set; the head of closed.js says what it must be`);
  }
  return value;
}

function json(name) {
  try {
    return JSON.parse(required(name));
  } catch (e) {
    throw new Error(`${name}: ${e.message}`);
  }
}

function wholeNumber(name, otherwise) {
  const value = Number(__ENV[name] || otherwise);
  if (!Number.isInteger(value) || value < 1) {
    throw new Error(`${name}: want a whole number of at least 1, got ${__ENV[name]}`);
  }
  return value;
}

function seconds(name, otherwise) {
  const match = /^(\d+(?:\.\d+)?)(ms|s|m)$/.exec(__ENV[name] || otherwise);
  if (match === null) {
    throw new Error(`${name}: want a number with ms, s or m, such as 10s, got ${__ENV[name]}`);
  }
  return Number(match[1]) * { ms: 0.001, s: 1, m: 60 }[match[2]];
}

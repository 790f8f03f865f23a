// Closed loop: each of USERS virtual users begins its next iteration as soon as the last one has ended, or SLEEP later.
//
//   USERS     number of virtual users
//   DURATION  of the whole load
//   RAMP      the part of it in which the users start, evenly one after the other; default 0s: all at once
//   SLEEP     pause of a user after each iteration, default 0s
//
// workload.js says what an iteration is.
import { sleep } from 'k6';
import { iterate, seconds, wholeNumber } from './workload.js';

export { handleSummary } from './workload.js';

const users = wholeNumber('USERS');
const duration = seconds('DURATION');
const ramp = seconds('RAMP', '0s');
const pause = seconds('SLEEP', '0s');
if (ramp >= duration) {
  throw new Error(`RAMP: want less than DURATION, which is ${__ENV.DURATION}, got ${__ENV.RAMP}`);
}

const gracefulStop = '30s'; // longer than any call of the contract: those in flight at the end still count

export const options = {
  scenarios: {
    closed:
      ramp === 0
        ? { executor: 'constant-vus', vus: users, duration: `${duration}s`, gracefulStop }
        : {
            executor: 'ramping-vus',
            startVUs: 0,
            stages: [
              { duration: `${ramp}s`, target: users },
              { duration: `${duration - ramp}s`, target: users },
            ],
            gracefulStop,
          },
  },
};

export default function () {
  iterate();
  if (pause > 0) {
    sleep(pause);
  }
}

// Plays a stream at the speed it might have come: its own clock where it has one, else the usual pace.

/** Milliseconds between two events of a single answer, as measured: some 130 deltas in 12 seconds. */
const BEAT = 90;
/** Wakes at most this often; a fast speed pushes several events at once. */
const TICK = 25;

const ELAPSED = /elas?psed_seconds\\?"\s*:\s*([0-9.]+)/;

/** When each server-sent event ends, in bytes and in milliseconds since the start. */
export function schedule(bytes) {
  const steps = [];
  const decoder = new TextDecoder();
  let from = 0;
  let clock = 0;
  let anchor = 0;
  let first = 0;
  while (from < bytes.length) {
    const to = eventEnd(bytes, from);
    const found = ELAPSED.exec(decoder.decode(bytes.subarray(from, to)));
    clock += BEAT;
    steps.push({ from, to, at: clock });
    const seconds = found ? Number(found[1]) * 1000 : 0;
    if (seconds > anchor) {
      // The stream says when this was: what came since the last such word is spread over that time.
      const waiting = steps.slice(first);
      waiting.forEach((step, index) => {
        step.at = anchor + ((index + 1) / waiting.length) * (seconds - anchor);
      });
      clock = seconds;
      anchor = seconds;
      first = steps.length;
    }
    from = to;
  }
  return steps;
}

function eventEnd(bytes, from) {
  for (let at = from; at < bytes.length - 1; at += 1) {
    const two = bytes[at] === bytes[at + 1] && (bytes[at] === 10 || bytes[at] === 13);
    if (two) return at + 2;
    if (bytes[at] === 13 && bytes[at + 1] === 10 && bytes[at + 2] === 13 && bytes[at + 3] === 10) return at + 4;
  }
  return bytes.length;
}

export class Player {
  constructor({ push, end, state }) {
    Object.assign(this, { push, end, state });
    this.timer = null;
  }

  load(bytes) {
    this.pause();
    this.bytes = bytes;
    this.steps = schedule(bytes);
    this.next = 0;
    this.clock = 0;
  }

  get playing() {
    return this.timer !== null;
  }

  get over() {
    return this.next >= this.steps.length;
  }

  play(speed) {
    this.speed = speed;
    if (this.playing || this.over) return;
    this.last = performance.now();
    this.timer = setInterval(() => this.#tick(), TICK);
    this.state();
  }

  pause() {
    clearInterval(this.timer);
    this.timer = null;
  }

  #tick() {
    const now = performance.now();
    this.clock += (now - this.last) * this.speed;
    this.last = now;
    this.#until(this.clock);
  }

  /** All that is left, now. */
  rest() {
    this.#until(Infinity);
  }

  #until(clock) {
    while (!this.over && this.steps[this.next].at <= clock) {
      const { from, to } = this.steps[this.next++];
      this.push(this.bytes.slice(from, to));
    }
    if (!this.over) return;
    this.pause();
    this.end();
    this.state();
  }
}

/*
 What code finds when it begins, and how it is called. It is given the time in milliseconds,
 four numbers as a seed, where a line for the log goes, and how many lines of how many
 characters are kept. What it needs later it takes before there is any code that could change
 it. Its lines are joined before it is compiled, which is how its frames are told from those
 of code; so there are no comments that end with their line.
*/
(function (time, a, b, c, d, log, maxLines, maxLine) {
  "use strict";
  const { stringify, parse } = JSON;
  const { apply, construct } = Reflect;
  const GivenDate = Date, GivenPromise = Promise, then = Promise.prototype.then;
  const GivenError = Error, GivenBuffer = ArrayBuffer, Weak = WeakRef, deref = WeakRef.prototype.deref;
  const text = String, slice = String.prototype.slice;
  const names = ["input", "payload", "nodes", "item", "index", "run"];

  const define = (on, name, value) =>
    Object.defineProperty(on, name, { value, writable: true, configurable: true, enumerable: false });

  /* What would reveal the time, other threads or the collector. */
  for (const name of ["SharedArrayBuffer", "Atomics", "WeakRef", "FinalizationRegistry", "performance"]) {
    delete globalThis[name];
  }
  define(globalThis, "now", () => time);
  const LimitedDate = function Date(...given) {
    if (!new.target) return new GivenDate(time).toString();
    return construct(GivenDate, given.length ? given : [time], new.target);
  };
  LimitedDate.prototype = GivenDate.prototype;
  define(GivenDate.prototype, "constructor", LimitedDate);
  define(LimitedDate, "UTC", GivenDate.UTC);
  define(LimitedDate, "parse", GivenDate.parse);
  define(globalThis, "Date", LimitedDate);

  /* sfc32 */
  const random = () => {
    const t = (((a + b) | 0) + d) | 0;
    d = (d + 1) | 0;
    a = b ^ (b >>> 9);
    b = (c + (c << 3)) | 0;
    c = (c << 21) | (c >>> 11);
    c = (c + t) | 0;
    return (t >>> 0) / 4294967296;
  };
  for (let i = 0; i < 12; i++) random();
  define(Math, "random", random);

  const show = (value) => {
    if (typeof value === "string") return value;
    try {
      if (typeof value === "object" && value !== null && !(value instanceof Error)) {
        const written = stringify(value);
        if (typeof written === "string") return written;
      }
      return text(value);
    } catch {
      return "?";
    }
  };
  let lines = 0;
  const write = (...values) => {
    if (lines > maxLines) return;
    lines++;
    let line = "";
    for (let i = 0; i < values.length && line.length < maxLine; i++) line += (i > 0 ? " " : "") + apply(slice, show(values[i]), [0, maxLine]);
    log(apply(slice, line, [0, maxLine]));
  };
  const console = {};
  for (const name of ["log", "info", "debug", "warn", "error", "trace"]) define(console, name, write);
  define(globalThis, "console", console);

  let state = "given", value;
  const finish = () => {
    if (state === "failed") throw value;
    if (state === "pending") throw new TypeError("The promise that was returned never settles.");
    if (typeof value === "function" || typeof value === "symbol") {
      throw new TypeError("What was returned is a " + typeof value + ", and no JSON value.");
    }
    const written = stringify(value);
    return written === undefined ? "null" : written;
  };

  /* Whether there was no memory left. The engine's collector has then found so much that lives
     that it comes again only behind the limit: what it would take away is still there when the
     memory is full once more. */
  const usedUp = () => {
    try {
      const seen = (() => { const cycle = {}; cycle.cycle = cycle; return new Weak(cycle); })();
      for (let held; apply(deref, seen, []); ) held = [held, new GivenBuffer(65536)];
      return false;
    } catch {
      return true;
    }
  };

  /* What was thrown, with a message. Where there is no memory for an error, the engine throws
     null. */
  const told = (e) => {
    if (e instanceof GivenError || (e === null && usedUp())) return e;
    if (typeof e === "object" && e !== null && typeof e.message === "string" && e.message) return e;
    return { message: e === null || e === undefined ? e + " was thrown" : show(e) || "\"\"" };
  };

  const call = (body, values) => {
    if (!body) return finish();
    const seen = parse(values) ?? {}, list = [];
    for (let i = 0; i < names.length; i++) list[i] = seen[names[i]];
    value = apply(body, undefined, list);
    if (!(value instanceof GivenPromise)) return finish();
    state = "pending";
    apply(then, value, [(v) => { state = "given"; value = v; }, (e) => { state = "failed"; value = e; }]);
  };

  /* Called with a function and what it sees, gives the output as JSON, or nothing where that
     is still promised; called without, gives what was promised. */
  return function (body, values) {
    try {
      return call(body, values);
    } catch (e) {
      throw told(e);
    }
  };
})

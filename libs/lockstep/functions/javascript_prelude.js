// Runs once, before the body of a function in JavaScript is compiled: what it may not have is taken
// away, and `__lockstep_run` calls it and says what it gave as a text that javascript.py reads.
(function (name, body) {
  "use strict";

  function refuse(what, hint) {
    return function () {
      throw new TypeError(what + ": " + hint);
    };
  }

  const clock = refuse("there is no clock here", "give the function a timestamp as an argument");
  const Dates = Date;
  const Dated = new Proxy(Dates, {
    construct(target, values, made) {
      if (values.length === 0) clock();
      return Reflect.construct(target, values, made === Dated ? target : made);
    },
    apply: clock,
  });
  Dates.now = clock;
  Dates.prototype.constructor = Dated;
  globalThis.Date = Dated;
  delete globalThis.performance;
  Math.random = refuse(
    "there is no chance here",
    "replicas must agree, so give the function what it may draw from as an argument",
  );

  const java = refuse("there is no Java here", "JavaScript's own library is all that there is");
  for (const one of ["Java", "java", "javax", "Packages", "JavaImporter", "importPackage", "importClass", "load"]) {
    Object.defineProperty(globalThis, one, { get: java, configurable: true });
  }
  globalThis.print = function () {};
  globalThis.console = { log() {}, info() {}, warn() {}, error() {}, debug() {} };

  function said(error) {
    return error instanceof Error ? error.name + ": " + error.message : "Error: " + String(error);
  }

  function told(value) {
    if (value === null || value === undefined) return "z";
    switch (typeof value) {
      case "boolean":
        return value ? "b1" : "b0";
      case "bigint":
        return "i" + value;
      case "number":
        if (Object.is(value, -0)) return "d-0";
        return (Number.isSafeInteger(value) ? "i" : "d") + value;
      case "string":
        if (!value.isWellFormed()) throw new RangeError("half a character (a lone surrogate)");
        return "s" + value;
      case "object":
        if (value instanceof Number || value instanceof String || value instanceof Boolean) {
          return told(value.valueOf());
        }
        if (typeof value.then === "function") throw new TypeError("a promise is no value");
        return "o" + JSON.stringify(value);
    }
    throw new TypeError("a " + typeof value + " is no value");
  }

  const called = (0, eval)("(function " + name + "(data) {" + body + "\n})");
  Object.defineProperty(globalThis, "__lockstep_run", {
    value(data) {
      try {
        return told(called(data));
      } catch (error) {
        return "!" + said(error);
      }
    },
  });
  return "made";
})

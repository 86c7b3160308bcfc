import { DatabaseError } from "pg";
import { expect, it } from "vitest";
import { DatabaseUnavailableError } from "../../../src/postgres/database/database-errors.ts";
import { Outage } from "../../../src/postgres/database/outage.ts";

function scene() {
  const lines: (readonly [string, Record<string, unknown>])[] = [];
  const log = {
    info: () => {},
    warn: (details: object, message: string) => void lines.push([message, { ...details }]),
    error: (details: object, message: string) => void lines.push([message, { ...details }]),
  };
  let now = 0;
  const outage = new Outage(log, { now: () => now });
  return { lines, log, outage, at: (ms: number) => (now = ms) };
}

const refused = () => Object.assign(new Error("connect"), { code: "ECONNREFUSED" });
function sqlError(code: string): DatabaseError {
  const error = new DatabaseError("refused", 0, "error");
  error.code = code;
  return error;
}

it("logs the start of an outage, each minute of it and its end with the number of failures", () => {
  const { lines, log, outage, at } = scene();
  const [inside, outside] = [outage.withoutConnectionErrors(log), outage.withoutOutageErrors(log)];
  for (let ms = 0; ms <= 90_000; ms += 10_000) {
    at(ms);
    inside.warn({ err: refused() }, "sweep failed");
    outside.error(
      { err: new Error("a call", { cause: new DatabaseUnavailableError(refused()) }) },
      "request failed",
    );
  }
  outage.reached();
  at(91_000);
  inside.warn({ err: refused() }, "sweep failed");
  outage.reached();
  at(92_000);
  outage.reached();
  expect(lines.map(([message]) => message)).toEqual(["database unreachable", "database still unreachable"]);
  at(93_000);
  outage.reached();
  outage.reached();
  expect(lines[0]?.[1]).toMatchObject({ event: "database_unreachable", code: "ECONNREFUSED" });
  expect(lines[1]?.[1]).toMatchObject({ failures: 13 });
  expect(lines.slice(2)).toEqual([
    ["database reachable again", expect.objectContaining({ outage_ms: 91_000, failures: 21 })],
  ]);
});

it("logs every other error, and connection errors of other servers", () => {
  const { lines, log, outage } = scene();
  outage.withoutConnectionErrors(log).warn({ err: sqlError("23514") }, "check failed");
  outage.withoutOutageErrors(log).warn({ err: refused() }, "RPC away");
  outage.withoutOutageErrors(log).error({ runs: 3 }, "released");
  expect(lines.map(([message]) => message)).toEqual(["check failed", "RPC away", "released"]);
});

it.each(["25006", "53100"])(
  "logs a database that accepts no writes (%s) once, until a minute passes without failure",
  (code) => {
    const { lines, log, outage, at } = scene();
    const error = new DatabaseUnavailableError(sqlError(code));
    expect(error).toMatchObject({ code: "UNAVAILABLE", message: expect.stringContaining("takes no writes") });
    for (let ms = 0; ms < 50_000; ms += 10_000) {
      at(ms);
      outage.withoutOutageErrors(log).error({ err: error }, "request failed");
      outage.reached();
    }
    expect(lines).toEqual([
      ["database refuses writes", expect.objectContaining({ event: "database_refused", code })],
    ]);
    at(100_000);
    outage.reached();
    expect(lines.slice(1)).toEqual([
      ["database accepts writes again", expect.objectContaining({ failures: 5 })],
    ]);
  },
);

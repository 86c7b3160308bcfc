import { describe, expect, it } from "vitest";
import { systemRandom } from "../../src/system.ts";
import { RequestIds } from "../../src/transport/request-ids.ts";

const NOW = Date.UTC(2026, 0, 2);
const UUID = "4bf92f35-77b3-4da6-a3ce-929d0e0e4736";

function idsOf(trustsProxy: boolean): RequestIds {
  return new RequestIds({ clock: { now: () => NOW }, random: systemRandom, trustsProxy });
}

describe("a request id", () => {
  it("begins with its time, is a UUIDv7 and unique", () => {
    const ids = idsOf(false);
    const drawn = Array.from({ length: 1000 }, () => ids.next());
    expect(new Set(drawn).size).toBe(1000);
    const time = NOW.toString(16).padStart(12, "0");
    for (const id of drawn) expect(id).toMatch(new RegExp(`^req_${time}7[0-9a-f]{3}[89ab][0-9a-f]{15}$`));
  });

  it.each([UUID, "a", "Root=1-67891233-abcdef012345678912345678", "a/b:c.d_e+f@g", "x".repeat(64)])(
    "is the trusted proxy's %s",
    (sent) => expect(idsOf(true).of(sent)).toBe(sent),
  );

  it("is ours without a trusted proxy", () => {
    expect(idsOf(false).of(UUID)).toMatch(/^req_/);
    expect(idsOf(true).of(undefined)).toMatch(/^req_/);
  });

  it.each([
    "",
    "two words",
    "one, two",
    'quo"te',
    "<b>",
    "line\nbreak",
    "é",
    "\0",
    "x".repeat(65),
    "req_",
    `req_${"0".repeat(32)}`,
  ])("replaces the malformed, the longer and the forged (%j)", (sent) => {
    expect(idsOf(true).of(sent)).not.toBe(sent);
    expect(idsOf(true).of(sent)).toMatch(/^req_[0-9a-f]{32}$/);
  });
});

import { Code, ConnectError } from "@connectrpc/connect";
import { expect, it } from "vitest";
import { isUnreachable } from "../../src/console/unreachable.ts";

it("tells a missing response from an error response", () => {
  const lost = new TypeError("Failed to fetch");
  expect([lost, ConnectError.from(lost)].map(isUnreachable)).toEqual([true, true]);
  expect([new ConnectError("HTTP 500", Code.Unknown), new Error("no"), "no"].map(isUnreachable)).toEqual([
    false,
    false,
    false,
  ]);
});

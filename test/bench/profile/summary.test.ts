import { describe, expect, it } from "vitest";
import { summarize } from "./summary.ts";

const node = (id: number, functionName: string, url: string, ...children: number[]) => ({
  id,
  callFrame: { functionName, url, lineNumber: 0 },
  children,
});

/** A call of ours that parses JSON, a library with a folder `src`, the collector, and time without work. */
const NODES = [
  node(1, "(root)", "", 2, 4, 5, 6),
  node(2, "answer", "file:///checkout/src/transport/http/response.ts", 3),
  node(3, "parse", ""),
  node(4, "query", "file:///checkout/node_modules/@grpc/grpc-js/build/src/server.js"),
  node(5, "(garbage collector)", ""),
  node(6, "(idle)", ""),
];

function summary(samples: number[], timeDeltas: number[]) {
  return summarize(JSON.stringify({ nodes: NODES, samples, timeDeltas }), 1);
}

describe("a CPU profile", () => {
  it("counts built-in functions for the caller's group, and idle time for none", () => {
    const { busyMs, groups, functions } = summary(
      [6, 2, 3, 4, 5, 6],
      [1_000, 3_000, 3_000, 2_000, 2_000, 90_000],
    );
    expect(busyMs).toBe(10);
    expect(groups).toEqual([
      { place: "our transports", share: 0.6 },
      { place: "Connect and gRPC libraries", share: 0.2 },
      { place: "garbage collection", share: 0.2 },
    ]);
    expect(functions[0]).toEqual({ place: "answer src/transport/http/response.ts:1", share: 0.3 });
  });

  it("excludes the server's start", () => {
    expect(summary([2, 4], [900, 2_000]).groups).toEqual([{ place: "Connect and gRPC libraries", share: 1 }]);
  });
});

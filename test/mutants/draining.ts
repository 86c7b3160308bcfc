import type { Mutant } from "./mutant.ts";

const DRAIN = ["test/instances/drain.test.ts"];
const SWITCH = ["test/instances/config-versions.test.ts"];

/** What keeps requests whole while instances restart and the configuration changes. */
export const DRAINING: readonly Mutant[] = [
  {
    name: "drain-waits",
    guard: "A stopping instance still accepts calls for DRAIN_MS.",
    file: "src/gateway.ts",
    find: "if (listening) await sleep(config.DRAIN_MS);",
    replace: "",
    tests: DRAIN,
  },
  {
    name: "drain-ends-connections",
    guard: "A draining instance ends each HTTP connection with its next response.",
    file: "src/transport/http/server.ts",
    find: "if (this.#draining) response.shouldKeepAlive = false;",
    replace: "",
    tests: DRAIN,
  },
  {
    name: "drain-goaway",
    guard: "A closing instance sends GOAWAY on gRPC connections and finishes their calls.",
    file: "src/transport/grpc/server.ts",
    find: `    if (this.#address !== undefined) this.#server.drain(this.#address, graceMs);
    this.#server.tryShutdown(() => resolve());`,
    replace: "    resolve();",
    tests: DRAIN,
  },
  {
    name: "drain-cuts-streams",
    guard: "A closing instance cuts gRPC streams that clients keep open longer than the grace period.",
    file: "src/transport/grpc/server.ts",
    find: "if (this.#address !== undefined) this.#server.drain(this.#address, graceMs);",
    replace: "",
    tests: DRAIN,
  },
  {
    name: "switch-polled",
    guard: "An instance finds another version of the configuration without a notification.",
    file: "src/gateway/config-follower.ts",
    find: "Math.min(this.#checkedAt + CONFIG_POLL_MS, this.#retryAt)",
    replace: "this.#retryAt",
    tests: SWITCH,
  },
  {
    name: "unusable-version-retried",
    guard: "A version of the configuration that an instance could not use is tried again.",
    file: "src/gateway/config-follower.ts",
    find: "this.#retryAt = performance.now() + RETRY_MS;",
    replace: "",
    tests: ["test/gateway/config-follower.test.ts"],
  },
];

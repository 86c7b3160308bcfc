import { EventEmitter, once } from "node:events";
import { setTimeout as sleep } from "node:timers/promises";
import type { Tool } from "../../src/domain/tools/tool.ts";
import { NO_DEPS } from "../tools/no-deps.ts";
import { echo } from "../../src/tools/echo.ts";

const PRICE = 10_000n;

/** Tools for tests of the transports: free, paid, waiting, reporting progress, failing and unavailable. */
export class TestTools {
  /**
   * `started` when a call of `wait` runs, with its signal; emit `release` to end it. `reporting` when one of
   * `tell` runs, which reports progress even after the `release`.
   */
  readonly events = new EventEmitter<{ started: [AbortSignal]; release: []; reporting: [AbortSignal] }>();

  list(): Tool[] {
    const { events } = this;
    return [
      echo.make(NO_DEPS, {}),
      tool({
        name: "paid",
        billable: true,
        fixedPrice: PRICE,
        scope: "compute:read",
        run: async () => ({ done: true }),
      }),
      tool({
        name: "wait",
        async run({ signal }) {
          events.emit("started", signal);
          await once(events, "release", { signal }).catch(() => signal.throwIfAborted());
          return { waited: true };
        },
      }),
      tool({
        name: "tell",
        async run({ signal, progress }) {
          events.emit("reporting", signal);
          await once(events, "release", { signal });
          for (let step = 1; ; step++) {
            progress?.({ progress: step, message: "x".repeat(64 * 1024) });
            await sleep(1, undefined, { signal });
          }
        },
      }),
      tool({
        name: "break",
        async run() {
          throw new Error("postgres://user:secret@db/ is down");
        },
      }),
      tool({ name: "later", status: "coming_soon", run: async () => ({}) }),
    ];
  }
}

type ToolRun = ReturnType<Tool["prepare"]>["run"];

function tool({ run, ...given }: Partial<Tool> & { name: string; run: ToolRun }): Tool {
  const base = {
    status: "active",
    billable: false,
    description: "",
    scope: undefined,
    inputSchema: {},
    fixedPrice: undefined,
  } as const;
  const made = { ...base, ...given };
  return { ...made, prepare: () => ({ price: made.fixedPrice ?? 0n, run }) };
}

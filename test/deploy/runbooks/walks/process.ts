import { once } from "node:events";
import { createServer, type Server } from "node:http";
import { expect, vi } from "vitest";
import { Client } from "pg";
import { systemClock } from "../../../../src/system.ts";
import { commandsOf, remedyOf, runCommand, type Machine } from "../page.ts";
import type { Stage, Walk } from "../stage.ts";

let holder: Client;
let locking: Promise<void>;
let slowness: NodeJS.Timeout;
let collector: Server;
let port: number;

const LOCK = "begin; lock table run in exclusive mode";
const BLOCKED = /^ *\d+ \| \{(\d+)[^\n]*\| active/m;

async function openSession({ scene }: Stage): Promise<Client> {
  const session = new Client({ connectionString: scene.database.url });
  session.on("error", () => {});
  await session.connect();
  return session;
}

/** Ends the session that blocks others, as the page says. */
async function endBlocking(alert: string, machine: Machine): Promise<void> {
  const sessions = commandsOf(alert).find((line) => line.startsWith("psql")) ?? "";
  let blocker: string | undefined;
  while (blocker === undefined) [, blocker] = BLOCKED.exec(await runCommand(sessions, machine)) ?? [];
  const remedy = remedyOf(alert, "select pg_terminate_backend", { PID: blocker });
  await runCommand(`psql "$OWNER_URL" -c "${remedy}"`, machine);
}

async function listening(server: Server, port: number): Promise<number> {
  await once(server.listen(port, "127.0.0.1"), "listening");
  const address = server.address();
  return typeof address === "object" && address !== null ? address.port : 0;
}

export const PROCESS_WALKS: readonly Walk[] = [
  {
    title: "the database is cut off",
    alerts: {
      ToolgateDatabaseUnavailable: /unreachable/,
      ToolgateNoLeader: /toolgate_keeper_leading 0/,
      ToolgateCallsFailing: /status="503"/,
      ToolgateCallsFailingSlowly: /status="503"/,
    },
    cause: ({ link }) => link.cut(),
    remedy: ({ link }) => link.mend(),
  },
  {
    title: "the clock of the machine is wrong",
    alerts: {
      ToolgateClockWrong:
        /"clock":\{"ok":false[^]*toolgate_clock_ahead_seconds\{of="database"\} (?:60|59\.9)/,
    },
    cause: () => void vi.spyOn(systemClock, "now").mockImplementation(() => Date.now() + 60_999),
    remedy: () => vi.mocked(systemClock).now.mockRestore(),
  },
  {
    title: "an operator leaves a transaction open that locks a table",
    alerts: { ToolgatePoolExhausted: BLOCKED },
    async cause(stage) {
      await stage.restart({ DATABASE_POOL: "2" });
      holder = await openSession(stage);
      await holder.query(LOCK);
    },
    remedy: ({ machine }) => endBlocking("ToolgatePoolExhausted", machine),
    after: (stage) => stage.restart(),
  },
  {
    title: "a job locks a table again and again",
    alerts: { ToolgateCallsSlow: /batch_duration_seconds_sum/ },
    async cause(stage) {
      holder = await openSession(stage);
      // Shorter than a statement waits for a lock.
      const lock = async () => {
        for (;;) await holder.query(`${LOCK}; select pg_sleep(0.9); commit`);
      };
      locking = lock().catch(() => {});
    },
    async remedy({ machine }) {
      await endBlocking("ToolgateCallsSlow", machine);
      await locking;
    },
  },
  {
    title: "other programs take the processor",
    alerts: { ToolgateEventLoopSlow: /nodejs_eventloop_lag_p99_seconds \d[^]*%CPU/ },
    cause() {
      const memory = new Int32Array(new SharedArrayBuffer(4));
      slowness = setInterval(() => Atomics.wait(memory, 0, 0, 400), 600);
    },
    remedy: () => clearInterval(slowness),
  },
  {
    title: "the collector of traces is down",
    alerts: { ToolgateSpansLost: /toolgate_spans_lost_total\{reason="export"\} [1-9]/ },
    async cause(stage) {
      collector = createServer((request, response) => request.resume().on("end", () => response.end("{}")));
      port = await listening(collector, 0);
      collector.close();
      const OTEL_EXPORTER_OTLP_ENDPOINT = `http://127.0.0.1:${port}`;
      await stage.restart({ OTEL_EXPORTER_OTLP_ENDPOINT, OTEL_EXPORTER_OTLP_TIMEOUT: "500" });
    },
    async remedy({ gateway }) {
      await listening(collector, port);
      await expect.poll(() => gateway.figure("toolgate_spans_exported_total")).toBeGreaterThan(0);
    },
    async after(stage) {
      await stage.restart();
      collector.closeAllConnections();
      collector.close();
    },
  },
  {
    title: "the instance has ended",
    alerts: { ToolgateInstanceDown: /./ },
    cause: (stage) => stage.stop(),
    remedy: (stage) => stage.restart(),
  },
];

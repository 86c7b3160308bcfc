import { setTimeout as sleep } from "node:timers/promises";
import { query } from "../../support/database-server.ts";
import type { Part, Target } from "../bench.ts";
import { callOnce, PAID_CALL } from "../http-request.ts";
import { compare, type Side } from "../measure.ts";
import { line, type Line } from "../report.ts";

/** Callers under way when the process is stopped. */
const CALLERS = 16;

/** Time without answers when the only process is stopped under paid calls, or killed, and started again. */
export const restart: Part = {
  name: "restart",
  title: "15. restart under load",
  why: "Operators: what an update or a crash of a single instance costs callers",
  async run(bench) {
    const databaseUrl = await bench.world.createDatabase("restarted");
    const [key = ""] = await bench.world.createAccounts(1, "1000000", databaseUrl);
    const serve = () => bench.serve({ databaseUrl });
    const first = await serve();
    const answer = await callOnce(first.port, key, PAID_CALL, 200);
    await first.server.stop();
    let answered = 1;
    const call = (port: number): Promise<boolean> =>
      callOnce(port, key, PAID_CALL, 200).then(
        () => true,
        () => false,
      );
    const side =
      (start: () => Promise<Target>, signal: "SIGTERM" | "SIGKILL", count: (calls: number) => void): Side =>
      async () => {
        const before = await start();
        const callers = Array.from({ length: CALLERS }, async () => {
          while (await call(before.port)) count(1);
        });
        await sleep(bench.plan.warmUpMs, undefined, { signal: bench.signal });
        const began = performance.now();
        await before.server.stop(signal);
        const after = await start();
        while (!(await call(after.port))) bench.signal.throwIfAborted();
        count(1);
        const p50Ms = performance.now() - began;
        await Promise.all(callers);
        await after.server.stop();
        return { p50Ms };
      };
    const lines: Line[] = [];
    for (const signal of ["SIGTERM", "SIGKILL"] as const) {
      const ours = side(serve, signal, (calls) => (answered += calls));
      const bare = side(
        () => bench.peer("http", "200", answer),
        signal,
        () => {},
      );
      const rounds = await compare(ours, bare, bench.plan);
      lines.push(line(`${signal} until the next answer`, rounds, "node:http + JSON", ["p50Ms"]));
    }
    const { rows } = await query(databaseUrl, "select count(*)::integer as receipts from receipt");
    if (rows[0].receipts < answered)
      throw new Error(`${answered} calls were answered, and there are ${rows[0].receipts} receipts`);
    return lines;
  },
};

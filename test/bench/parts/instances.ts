import type { Part } from "../bench.ts";
import { FREE_ANSWER, FREE_CALL, PAID_ANSWER, PAID_CALL, toolCallRequest } from "../http-request.ts";
import { compare } from "../measure.ts";
import { line, type Line } from "../report.ts";

/**
 * Several instances on one database, and one. All share the cores and the connections: more of them cannot be
 * much faster, but must not slow each other.
 */
export const instances: Part = {
  name: "instances",
  title: "12. instances on one database",
  why: "Operators who run two for availability, or more for load",
  async run(bench) {
    const { world, plan } = bench;
    const keys = await world.createAccounts(plan.quick ? 10 : 1_000, "1000000");
    const gateways = await Promise.all(Array.from({ length: 4 }, () => bench.serve()));
    const kinds = [
      {
        name: "paid calls, 1,000 accounts",
        requests: keys.map((key) => toolCallRequest(key, PAID_CALL)),
        expect: PAID_ANSWER,
      },
      { name: "free calls", requests: [toolCallRequest(keys[0] ?? "", FREE_CALL)], expect: FREE_ANSWER },
    ];
    const lines: Line[] = [];
    for (const { name, ...job } of kinds) {
      const side = (count: number) => bench.side(gateways.slice(0, count), { connections: 64, ...job });
      // A process that has just started compiles while it works: the first time does not count.
      await side(4)();
      for (const count of [2, 4]) {
        const rounds = await compare(side(count), side(1), plan);
        lines.push(line(`${count}, ${name}`, rounds, "one", ["perSecond", "totalMicros"]));
      }
    }
    return lines;
  },
};

import type { Part, Target } from "../bench.ts";
import { callOnce, PAID_CALL, toolCallRequest } from "../http-request.ts";
import { compare } from "../measure.ts";
import { line } from "../report.ts";

/** A 402 with a fresh quote, and a minimal server that returns as many bytes. */
export const paymentRequired: Part = {
  name: "402",
  title: "4. 402 with a quote",
  why: "Operators: what callers without money cost",
  async run(bench) {
    const [key = ""] = await bench.world.createAccounts(1);
    const gateway = await bench.serve();
    const bare = await bench.peer("http", "402", await callOnce(gateway.port, key, PAID_CALL, 402));
    const requests = [toolCallRequest(key, PAID_CALL)];
    const expect = { status: 402, body: '"code":"PAYMENT_REQUIRED"' };
    const side = (target: Target) => bench.side(target, { connections: 64, requests, expect });
    const rounds = await compare(side(gateway), side(bare), bench.plan);
    return [line("CPU, throughput", rounds, "node:http + JSON", ["cpuMicros", "perSecond"])];
  },
};

import type { Part, Target } from "../bench.ts";
import { callOnce, FREE_ANSWER, FREE_CALL, toolCallRequest } from "../http-request.ts";
import { compare } from "../measure.ts";
import { line } from "../report.ts";

export const http: Part = {
  name: "http",
  title: "1. free call, HTTP",
  why: "Agents and operators: what the gateway adds to a request",
  async run(bench) {
    const [key = ""] = await bench.world.createAccounts(1);
    const gateway = await bench.serve();
    const bare = await bench.peer("http", "200", await callOnce(gateway.port, key, FREE_CALL, 200));
    const requests = [toolCallRequest(key, FREE_CALL)];
    const side = (target: Target) => bench.side(target, { connections: 64, requests, expect: FREE_ANSWER });
    const rounds = await compare(side(gateway), side(bare), bench.plan);
    return [line("CPU, throughput", rounds, "node:http + JSON", ["cpuMicros", "perSecond"])];
  },
};

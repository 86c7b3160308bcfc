import type { Part, Target } from "../bench.ts";
import { readChats } from "../chat-reader.ts";
import { postRequest } from "../http-request.ts";
import { compare, type Side } from "../measure.ts";
import { line } from "../report.ts";

const CHATS = { streams: 16, chunks: 200, pauseMs: 5 };

/** Ten tokens, without a pause. */
const WHOLE = { model: "m", max_tokens: 10, messages: [{ role: "user", content: "10 0" }] };

/** Chats through /openai/v1, and a proxy of the same model server that pipes node:http streams. */
export const chat: Part = {
  name: "chat",
  title: "9. chat",
  why: "Users of chat tools: the delay before the first token",
  async run(bench) {
    const { world, plan } = bench;
    const model = await bench.peer("chat", "model");
    const gateway = await bench.serve({ env: { INFERENCE_BASE_URL: `http://127.0.0.1:${model.port}/v1` } });
    const proxy = await bench.peer("chat", "proxy", String(model.port));
    const [key = ""] = await world.createAccounts(1, "1000");
    const chats = plan.quick ? { ...CHATS, chunks: 10 } : CHATS;
    const side =
      ({ server, port }: Target): Side =>
      async () => {
        const before = await server.cpuSeconds();
        const p50Ms = await readChats(port, key, chats);
        const cpu = (await server.cpuSeconds()) - before;
        return { p50Ms, cpuMicros: (cpu * 1_000_000) / (chats.streams * chats.chunks) };
      };
    const [ours, bare] = [side(gateway), side(proxy)];
    await compare(ours, bare, { ...plan, rounds: 1 });
    const rounds = await compare(ours, bare, plan);
    const requests = [postRequest("/openai/v1/chat/completions", key, WHOLE)];
    const expect = { status: 200, body: '"finish_reason":"stop"' };
    const whole = (target: Target) => bench.side(target, { connections: 16, requests, expect });
    const wholes = await compare(whole(gateway), whole(proxy), plan);
    return [
      line("whole, 16 connections: throughput, CPU", wholes, "node:http proxy", ["perSecond", "cpuMicros"]),
      line("time to first token", rounds, "node:http proxy", ["p50Ms"]),
      line("CPU per chunk", rounds, "node:http proxy", ["cpuMicros"]),
    ];
  },
};

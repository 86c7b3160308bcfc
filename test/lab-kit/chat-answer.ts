import { z } from "zod";
import type { Body } from "./client.ts";

/** USD per million tokens that the gateway takes for a model without a price. */
const [INPUT_RATE, OUTPUT_RATE] = [0.5, 1.5];

const text = z.object({ content: z.string().nullish() }).optional();

/** The members of an answer, a chunk or an error that are compared. */
const part = z.object({
  id: z.string().optional(),
  choices: z
    .array(
      z.object({
        message: text,
        delta: text,
        finish_reason: z.string().nullish(),
        original_finish_reason: z.string().nullish(),
      }),
    )
    .default([]),
  usage: z.unknown().optional(),
  receipt: z.unknown().optional(),
  code: z.string().optional(),
  error: z.unknown().optional(),
});

/** The result of a chat, over every protocol; without counts where the model server broke off before them. */
const result = z.object({
  content: z.string(),
  finish_reason: z.string().nullish(),
  usage: z
    .object({ prompt_tokens: z.number().optional(), completion_tokens: z.number().optional() })
    .nullish(),
});
const sent = z.object({ messages: z.array(z.object({ content: z.string() })) });
const anything = z.looseObject({});

/** Reads an answer of the OpenAI API: the same JSON whether whole or streamed, with the members of /v1. */
export function readChat(answer: { status: number; headers: Headers; text: string }): {
  status: number;
  json: object;
} {
  const { status, headers } = answer;
  if (status !== 200) return { status, json: anything.parse(JSON.parse(answer.text)) };
  const streamed = headers.get("content-type")?.startsWith("text/event-stream") === true;
  const parts = (streamed ? eventsOf(answer.text) : [answer.text])?.map((json): unknown => JSON.parse(json));
  if (!parts)
    return { status: 502, json: { code: "INTERNAL", message: `the stream does not end: ${answer.text}` } };
  let content = "";
  let finish_reason: string | null = null;
  let broken = false;
  for (const json of parts) {
    const { code, choices, error } = part.parse(json);
    const [choice = {}] = choices;
    // The status was sent before: the error is the last event.
    if (code !== undefined) return { status: code === "TOOL_FAILED" ? 500 : 503, json: anything.parse(json) };
    content += choice.message?.content ?? choice.delta?.content ?? "";
    finish_reason = choice.finish_reason ?? finish_reason;
    // In a stream the error of a model server that broke off is in place of the last chunk.
    broken ||= error !== undefined || choice.original_finish_reason === "connection_lost";
  }
  const { id, usage, receipt } = part.parse(parts.at(-1));
  const end = broken ? { finish_reason: "length" } : { finish_reason, id };
  return { status, json: { result: { content, usage, ...end }, receipt } };
}

/** What is wrong with a chat that was sold; undefined for nothing. */
export function wrongChat(params: object, { receipt, ...body }: Body): string | undefined {
  const { content, finish_reason, usage } = result.parse(body.result);
  const { prompt_tokens: prompt, completion_tokens: completion } = usage ?? {};
  if (!receipt) return "no receipt";
  if (receipt.debited_usdc_microusd > receipt.quoted_usdc_microusd) return "more than the quote";
  if (content === "" && completion === undefined) return "charged without an answer";
  if (finish_reason !== "stop") return undefined;
  if (!content.endsWith(sent.parse(params).messages[0]?.content ?? "?")) return "another call's result";
  if (prompt === undefined || completion === undefined) return "no token counts";
  const used = Math.ceil(prompt * INPUT_RATE + completion * OUTPUT_RATE);
  return receipt.debited_usdc_microusd === used ? undefined : `charged other than the ${used} it used`;
}

/** The data of every event but the last, which must be `[DONE]`; undefined otherwise. */
function eventsOf(stream: string): string[] | undefined {
  const data = Array.from(stream.matchAll(/^data: (.*)$/gm), ([, event = ""]) => event);
  return data.pop() === "[DONE]" ? data : undefined;
}

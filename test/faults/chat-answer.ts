import { z } from "zod";
import type { Body } from "./client.ts";

/** Without the counts where the model server broke off before them. */
const count = z
  .object({ prompt_tokens: z.number().optional(), completion_tokens: z.number().optional() })
  .nullish();

/** The members of an answer, a chunk or an error that are compared. */
const part = z.object({
  id: z.string().optional(),
  choices: z
    .array(
      z.object({
        message: z.object({ content: z.string() }).optional(),
        delta: z.object({ content: z.string().nullish() }).optional(),
        finish_reason: z.string().nullish(),
      }),
    )
    .optional(),
  usage: z.unknown().optional(),
  receipt: z.unknown().optional(),
  code: z.string().optional(),
});

/** The result of a chat, over every protocol. */
const result = z.object({ content: z.string(), finish_reason: z.string().nullish(), usage: count });

/** USD per million tokens that the gateway takes for a model without a price. */
const [INPUT_RATE, OUTPUT_RATE] = [0.5, 1.5];

/** Reads an answer of the OpenAI API: the same JSON whether whole or streamed, with the members of /v1. */
export function readChat({ status, headers, text }: Answer): { status: number; json: object } {
  if (status !== 200) return { status, json: z.looseObject({}).parse(JSON.parse(text)) };
  const streamed = headers["content-type"]?.startsWith("text/event-stream") === true;
  const parts = streamed ? eventsOf(text) : [text];
  if (!parts) return { status: 502, json: { code: "INTERNAL", message: `the stream does not end: ${text}` } };
  let content = "";
  let finish_reason: string | null = null;
  let last = part.parse({});
  for (const json of parts) {
    last = part.parse(JSON.parse(json));
    // The status was sent before: the error is the last event.
    if (last.code !== undefined)
      return {
        status: last.code === "TOOL_FAILED" ? 500 : 503,
        json: z.looseObject({}).parse(JSON.parse(json)),
      };
    const [choice] = last.choices ?? [];
    content += choice?.message?.content ?? choice?.delta?.content ?? "";
    finish_reason = choice?.finish_reason ?? finish_reason;
  }
  const { id, usage, receipt } = last;
  return { status, json: { id, result: { content, finish_reason, usage }, receipt } };
}

/** What is wrong with a chat that was sold; undefined for nothing. */
export function wrongChat(params: object, body: Body): string | undefined {
  const { receipt } = body;
  const { content, finish_reason, usage } = result.parse(body.result);
  const { prompt_tokens: prompt, completion_tokens: completion } = usage ?? {};
  if (!receipt) return "no receipt";
  if (receipt.debited_usdc_microusd > receipt.quoted_usdc_microusd) return "more than the quote";
  if (content === "" && completion === undefined) return "charged without an answer";
  if (finish_reason !== "stop") return undefined;
  const { messages } = sent.parse(params);
  if (!content.endsWith(messages[0]?.content ?? "?")) return "another call's result";
  if (prompt === undefined || completion === undefined) return "no token counts";
  const used = Math.ceil(prompt * INPUT_RATE + completion * OUTPUT_RATE);
  return receipt.debited_usdc_microusd === used ? undefined : `charged other than the ${used} it used`;
}

const sent = z.object({ messages: z.array(z.object({ content: z.string() })) });

interface Answer {
  readonly status: number;
  readonly headers: { readonly "content-type"?: string | undefined };
  readonly text: string;
}

/** The data of every event but the last, which must be `[DONE]`; undefined otherwise. */
function eventsOf(text: string): string[] | undefined {
  const events = text.split("\n\n").filter((event) => event.startsWith("data: "));
  const data = events.map((event) => event.slice("data: ".length));
  return data.pop() === "[DONE]" ? data : undefined;
}

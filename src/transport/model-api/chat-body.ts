import type { JsonObject, JsonValue } from "../../domain/core/json.ts";
import { ToolgateError } from "../../domain/core/errors.ts";
import type { AttachedTexts } from "../../domain/tools/chat.ts";
import type { Form } from "../../domain/tools/tool.ts";
import type { HttpExchange } from "../http/exchange.ts";
import type { HttpResponse } from "../http/response.ts";
import { cutImages, requireImages } from "./cut-images.ts";
import type { ModelCalls } from "./model-calls.ts";

/** The tool of conversations. */
export const CHAT = "inference_chat";

/** Bytes of which another thread computes the digest in a millisecond, at least. */
const DIGESTED_PER_MS = 400_000;

/** Returns the largest body of all models that take images; undefined: none does. */
export function imageLimit(calls: ModelCalls): number | undefined {
  const limits = calls
    .apisOf(CHAT)
    .flatMap(({ models }) => models.flatMap(({ maxBodyBytes }) => maxBodyBytes ?? []));
  return limits.length === 0 ? undefined : Math.max(...limits);
}

interface ChatBody {
  readonly exchange: Pick<HttpExchange, "record">;
  readonly bytes: Buffer;
  readonly form: Form;
}

type Answer = HttpResponse | Promise<HttpResponse>;

/** Returns the answer to a conversation, whose long images are attached. @throws ToolgateError */
export async function answerChat(
  { exchange: { record }, bytes, form }: ChatBody,
  calls: ModelCalls,
  answer: (body: JsonObject, more: { readonly attached?: AttachedTexts }) => Answer,
): Promise<HttpResponse> {
  const { sizes, time } = calls.pipeline;
  if (bytes.length <= sizes.limitOf(CHAT)) return answer(calls.parsed(bytes, CHAT), {});
  const { rest, attached } = await cutImages(bytes, form);
  time.count(record, bytes.length / DIGESTED_PER_MS);
  return time.measure(record, () => {
    const body = calls.parsed(rest, CHAT);
    requireSize(bytes, body["model"], calls);
    requireImages(body, attached, form);
    return answer(body, { attached });
  });
}

/** @param id of a model or an alias, whose models all take it. @throws ToolgateError PAYLOAD_TOO_LARGE */
function requireSize({ length }: Buffer, id: JsonValue | undefined, calls: ModelCalls): void {
  const [{ aliases = [], models: all } = { models: [] }] = calls.apisOf(CHAT);
  const named = aliases.find((alias) => alias.id === id)?.models ?? [id];
  const models = all.filter((model) => named.includes(model.id));
  const limit = Math.min(...models.map(({ maxBodyBytes = 0 }) => maxBodyBytes));
  if (models.length > 0 && length <= limit) return;
  const most = Math.max(models.length > 0 ? limit : 0, calls.pipeline.sizes.limitOf(CHAT));
  const words = `body: is larger than ${most} bytes, the limit of the model; send less`;
  throw new ToolgateError("PAYLOAD_TOO_LARGE", words);
}

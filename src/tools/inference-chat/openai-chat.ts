import { invalidField } from "../../domain/core/errors.ts";
import type { JsonObject } from "../../domain/core/json.ts";
import type { ChatListener, ChatModel, ChatModels } from "../../domain/tools/chat.ts";
import type { PreparedCall, ResultSink } from "../../domain/tools/tool.ts";
import type { Charge } from "../built-in.ts";
import { finder, requireFits } from "./models.ts";
import { answerOf, chunkOf, headOf, type AnswerHead } from "./openai-answer.ts";
import { readChatBody } from "./openai-body.ts";
import { ceilingOf, chargeFor } from "./price.ts";

/**
 * Returns the function that prepares a chat completion of the OpenAI API: its body, its answer, and its
 * chunks if the caller takes them.
 */
export function openAiChat(models: readonly ChatModel[], inference: ChatModels, charge: Charge) {
  const modelOf = finder(models);
  return (body: JsonObject): PreparedCall => {
    const { model: id } = body;
    if (typeof id !== "string") throw invalidField("params.model", "is required, a string");
    const model = modelOf(id);
    const { messages, temperature, limit, more, prompt, extraTokens } = readChatBody(body, model);
    requireFits({ messages: prompt, limit }, model);
    const maxTokens = limit?.tokens ?? model.maxOutputTokens;
    const conversation = { messages: prompt, extraTokens, maxTokens };
    return {
      price: ceilingOf(model, conversation),
      async run(context) {
        const { runId = "", caller, signal, idempotencyKey, output, meter, noteModel, span } = context;
        const { accountId } = caller;
        const head = headOf(runId, model.id);
        const request = { model: model.id, messages, maxTokens, temperature, more };
        const listener = output && listenerOf(head, output);
        const options = { signal, accountId, idempotencyKey, whole: true, listener, span };
        noteModel?.({ model: model.id });
        const completion = await inference.complete(request, options);
        noteModel?.({ model: model.id, cost: completion.cost });
        if (charge === "used") meter?.(chargeFor(model, conversation, completion));
        return answerOf(head, completion);
      },
    };
  };
}

function listenerOf(head: AnswerHead, output: ResultSink): ChatListener {
  let role: JsonObject = { role: "assistant" };
  return {
    take({ delta, logprobs }) {
      const chunk = chunkOf(head, { delta: { ...role, ...delta }, logprobs });
      role = {};
      return output.write(chunk);
    },
    closed: output.closed,
  };
}

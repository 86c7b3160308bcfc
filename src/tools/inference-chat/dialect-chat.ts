import { invalidField } from "../../domain/core/errors.ts";
import type { JsonObject } from "../../domain/core/json.ts";
import type { ChatDelta, ChatListener, ChatModel } from "../../domain/tools/chat.ts";
import type { ResultSink } from "../../domain/tools/tool.ts";
import type { Dialect, EventMaker } from "../../dialects/dialect.ts";
import { oncePerObject } from "../once-per-object.ts";
import type { PrepareFor } from "./model-tool.ts";
import { answerOf, chunkOf, headOf, type AnswerHead } from "./openai-answer.ts";
import type { PrepareChat } from "./openai-chat.ts";

/** Prepares calls of an API beside chat completions, whose body, answer and events are its own. */
export function dialectChat(
  dialect: Dialect,
  modelOf: (id: string) => ChatModel,
  prepare: PrepareChat,
): PrepareFor {
  // The models of an alias get the same body.
  const readFor = oncePerObject((_body: JsonObject) => new Map<string, ReturnType<Dialect["read"]>>());
  return (body, id) => {
    if (id === undefined) throw invalidField("params.model", "is required, a string");
    const model = modelOf(id);
    const known = readFor(body);
    const request = known.get(id) ?? dialect.read(body, model);
    known.set(id, request);
    const { price, promptTokens, run } = prepare(request.chat, model, request.passed);
    return {
      price,
      promptTokens,
      async run(context) {
        const head = headOf(context.runId ?? "", model.id);
        const events = request.events(promptTokens);
        const { output } = context;
        const { completion, used } = await run(context, output && listenerOf(head, events, output));
        const answer = answerOf(head, completion, used);
        const { passed } = completion;
        if (output) void writeAll(output, events.end(answer, passed));
        return request.answerOf(answer, passed, output && events.output);
      },
    };
  };
}

function listenerOf(head: AnswerHead, events: EventMaker, output: ResultSink): ChatListener {
  const names = { id: head.id, model: head.model };
  return {
    take: (delta: ChatDelta) =>
      writeAll(output, delta.event ? events.pass(delta.event, names) : events.take(chunkOf(head, delta))),
    closed: output.closed,
  };
}

function writeAll(output: ResultSink, events: readonly JsonObject[]): Promise<void> | undefined {
  let waiting: Promise<void> | undefined;
  for (const event of events) waiting = output.write(event);
  return waiting;
}

import { ToolService } from "#gen/toolgate/v1/tool_service_pb.ts";
import type { HttpAnswer } from "../http/response.ts";
import { arrivalOf } from "../http/request-head.ts";
import type { Operation, Pipeline } from "../pipeline.ts";
import type { McpExchange } from "./exchange.ts";
import { errorMessage, readMessage, resultMessage, type Message, type RequestId } from "./message.ts";
import type { Methods } from "./methods.ts";
import { refusalOf } from "./refusal.ts";
import { eraOf, UNNAMED_REVISION } from "./revision.ts";
import { JsonRpcError, RPC_ERROR } from "./rpc-error.ts";
import { UnreadableMessageError } from "./unreadable-message.ts";

/** Messages at most. */
const LONGEST = 10;

/** Headers that belong to one call. */
const OF_ONE_CALL = ["x-payment", "payment-signature", "idempotency-key"];

/** Batches, which revision 2025-03-26 has and no other: each message is counted, billed and answered as if it had come alone. */
export class BatchAnswers {
  readonly #pipeline: Pipeline;
  readonly #methods: Methods;
  readonly #callTool: Operation;

  constructor(pipeline: Pipeline, methods: Methods) {
    this.#pipeline = pipeline;
    this.#methods = methods;
    this.#callTool = pipeline.operation(ToolService.method.callTool);
  }

  /**
   * Answers the messages one after the other, so that the first that money or rate do not last for is told so.
   * @throws UnreadableMessageError for what is no batch that is taken; nothing has been done then
   */
  async answer(bodies: readonly unknown[], exchange: McpExchange): Promise<HttpAnswer> {
    demandBatch(bodies, exchange);
    const messages = bodies.map((body, index) => readMessage(body, `body[${index}]`));
    const answers: object[] = [];
    for (const [index, message] of messages.entries()) {
      const answer = await this.#answerOne(message, index, exchange);
      if (answer) answers.push(answer);
    }
    return answers.length === 0 ? { status: 202 } : { status: 200, json: answers };
  }

  async #answerOne(
    message: Message | undefined,
    index: number,
    exchange: McpExchange,
  ): Promise<object | undefined> {
    const id = message?.id;
    exchange.forgetSettlement();
    try {
      // The batch as a whole was counted once when it was let in.
      if (index > 0)
        exchange.tellRate((await this.#pipeline.admit(this.#callTool, arrivalOf(exchange.request))).rate);
      if (!message || id === undefined) return undefined;
      if (message.method === "initialize" || eraOf(message, undefined) === "modern")
        throw new JsonRpcError(RPC_ERROR.invalidRequest, "must be sent alone, not in a batch");
      return resultMessage(id, await this.#methods.result(message, "legacy", exchange));
    } catch (error) {
      return id === undefined ? undefined : this.#failure(error, id, exchange);
    }
  }

  /** There is one HTTP status for all, so that each failure is told in its own answer, a payment that is missing as a result. */
  #failure(thrown: unknown, id: RequestId, exchange: McpExchange): object {
    if (thrown instanceof JsonRpcError) return errorMessage(id, thrown.code, thrown.message, thrown.data);
    const refusal = refusalOf(thrown, true, exchange, this.#pipeline);
    if (refusal.kind === "result") return resultMessage(id, refusal.result);
    return errorMessage(id, refusal.answer.status, refusal.message, refusal.answer.json);
  }
}

function demandBatch(messages: readonly unknown[], { version, headers }: McpExchange): void {
  if (version !== undefined && version !== UNNAMED_REVISION)
    throw noBatch(`must be one object; batches are of revision ${UNNAMED_REVISION} only`);
  if (messages.length === 0) throw noBatch("must hold a message");
  if (messages.length > LONGEST) throw noBatch(`must hold at most ${LONGEST} messages`);
  const header = OF_ONE_CALL.find((name) => headers[name] !== undefined);
  if (header !== undefined)
    throw noBatch(`must be one object with the header ${header}, which belongs to one call`);
}

function noBatch(problem: string): UnreadableMessageError {
  return new UnreadableMessageError(RPC_ERROR.invalidRequest, `body: ${problem}`);
}

import { ToolService } from "#gen/toolgate/v1/tool_service_pb.ts";
import { OTHER } from "../../app/operations/request-record.ts";
import type { HttpResponse } from "../http/response.ts";
import { HttpCredentials } from "../http/request-head.ts";
import type { Operation, Pipeline } from "../pipeline.ts";
import type { McpExchange } from "./exchange.ts";
import {
  errorMessage,
  JsonRpcError,
  outcomeOf,
  readMessage,
  resultMessage,
  RPC_ERROR,
  UnreadableMessageError,
  type Message,
  type RequestId,
} from "./json-rpc.ts";
import { methodName, type Methods } from "./methods.ts";
import { eraOf, DEFAULT_REVISION } from "./revision.ts";
import { failedCall } from "./tool-result.ts";

const MAX_MESSAGES = 10;

/** Headers that apply to one call only. */
const SINGLE_CALL_HEADERS = ["x-payment", "payment-signature", "idempotency-key"];

/**
 * Serves batches, which only revision 2025-03-26 has. Each message is rate limited, billed and answered as if
 * sent alone.
 */
export class BatchHandler {
  readonly #pipeline: Pipeline;
  readonly #methods: Methods;
  readonly #callTool: Operation;

  constructor(pipeline: Pipeline, methods: Methods) {
    this.#pipeline = pipeline;
    this.#methods = methods;
    this.#callTool = pipeline.operation(ToolService.method.callTool);
  }

  /**
   * Handles the messages in order, so that the first one without funds or rate gets the error.
   * @throws UnreadableMessageError for an invalid batch; nothing has run then
   */
  async answer(bodies: readonly unknown[], exchange: McpExchange): Promise<HttpResponse> {
    requireBatch(bodies, exchange);
    exchange.record.method = "batch";
    const messages = bodies.map((body, index) => readMessage(body, `body[${index}]`));
    const answers: object[] = [];
    for (const [index, message] of messages.entries()) {
      const answer = await this.#recorded(message, index, exchange);
      if (answer) answers.push(answer);
    }
    return answers.length === 0 ? { status: 202 } : { status: 200, json: answers };
  }

  /** Each message is recorded as a request of its own, beside that of the batch. */
  async #recorded(
    message: Message | undefined,
    index: number,
    exchange: McpExchange,
  ): Promise<object | undefined> {
    const { requests } = this.#pipeline;
    const batch = exchange.record;
    const record = requests.start("mcp", batch.requestId, batch.span?.headers);
    record.caller = batch.caller;
    record.method = message ? methodName(message) : OTHER;
    exchange.record = record;
    const answer = await this.#answerOne(message, index, exchange);
    exchange.record = batch;
    requests.end(record, answer ? 200 : 202);
    return answer;
  }

  async #answerOne(
    message: Message | undefined,
    index: number,
    exchange: McpExchange,
  ): Promise<object | undefined> {
    const id = message?.id;
    exchange.clearSettlement();
    try {
      // The first message used the rate limit of the HTTP request.
      if (index > 0)
        exchange.setRateHeaders(
          (await this.#pipeline.authenticate(this.#callTool, new HttpCredentials(exchange.request))).rate,
        );
      if (!message || id === undefined) return undefined;
      if (message.method === "initialize" || eraOf(message, undefined) === "modern")
        throw new JsonRpcError(RPC_ERROR.invalidRequest, "must be sent alone, not in a batch");
      return resultMessage(id, await this.#methods.result(message, "legacy", exchange));
    } catch (error) {
      return id === undefined ? undefined : this.#failure(error, id, exchange);
    }
  }

  /**
   * The batch has one HTTP status, so each failure goes into its own message; a missing payment becomes a
   * result.
   */
  #failure(thrown: unknown, id: RequestId, exchange: McpExchange): object {
    if (thrown instanceof JsonRpcError) {
      exchange.record.failed(outcomeOf(thrown));
      return errorMessage(id, thrown.code, thrown.message, thrown.data);
    }
    const failed = failedCall(thrown, true, exchange, this.#pipeline);
    if (failed.kind === "result") return resultMessage(id, failed.result);
    return errorMessage(id, failed.answer.status, failed.message, failed.answer.json);
  }
}

function requireBatch(messages: readonly unknown[], { version, headers }: McpExchange): void {
  if (version !== undefined && version !== DEFAULT_REVISION)
    throw invalidBatch(`must be one object; only revision ${DEFAULT_REVISION} has batches`);
  if (messages.length === 0) throw invalidBatch("must hold a message");
  if (messages.length > MAX_MESSAGES) throw invalidBatch(`must hold at most ${MAX_MESSAGES} messages`);
  const header = SINGLE_CALL_HEADERS.find((name) => headers[name] !== undefined);
  if (header !== undefined)
    throw invalidBatch(`must be one object with the header ${header}, which belongs to one call`);
}

function invalidBatch(problem: string): UnreadableMessageError {
  return new UnreadableMessageError(RPC_ERROR.invalidRequest, `body: ${problem}`);
}

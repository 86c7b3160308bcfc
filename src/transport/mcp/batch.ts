import { ToolService } from "#gen/toolgate/v1/tool_service_pb.ts";
import { OTHER } from "../../app/operations/request-record.ts";
import type { RateDecision } from "../../domain/accounts/caller.ts";
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

/** Serves batches (revision 2025-03-26 only). Each message is limited, billed and answered on its own. */
export class BatchHandler {
  readonly #pipeline: Pipeline;
  readonly #methods: Methods;
  readonly #callTool: Operation;

  constructor(pipeline: Pipeline, methods: Methods) {
    this.#pipeline = pipeline;
    this.#methods = methods;
    this.#callTool = pipeline.operation(ToolService.method.callTool);
  }

  /** Handles the messages in order. @throws UnreadableMessageError before any has run */
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
    const record = requests.startPart(batch);
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
      // The first message used the rate limit of the HTTP request, which measures it too.
      if (index > 0) exchange.setRateHeaders(await this.#rateOf(exchange));
      if (!message || id === undefined) return undefined;
      if (message.method === "initialize" || eraOf(message, undefined) === "modern")
        throw new JsonRpcError(RPC_ERROR.invalidRequest, "must be sent alone, not in a batch");
      const answer = () => this.#methods.result(message, "legacy", exchange);
      return resultMessage(
        id,
        await (index > 0 ? this.#pipeline.time.measure(exchange.record, answer) : answer()),
      );
    } catch (error) {
      return id === undefined ? undefined : this.#failure(error, id, exchange);
    }
  }

  async #rateOf({ request, record }: McpExchange): Promise<RateDecision | undefined> {
    const credentials = new HttpCredentials(request);
    const { rate } = await this.#pipeline.authenticate(this.#callTool, credentials, record);
    return rate;
  }

  /** Failures go into their own message, since the batch has one status; a missing payment is a result. */
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

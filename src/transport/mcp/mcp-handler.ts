import type { Catalogue } from "../../app/catalogue.ts";
import type { HttpAnswer } from "../http/response.ts";
import type { Pipeline } from "../pipeline.ts";
import { BatchAnswers } from "./batch.ts";
import type { McpExchange } from "./exchange.ts";
import { laidOver } from "./merged-error.ts";
import { errorMessage, readMessage, resultMessage, type Message, type RequestId } from "./message.ts";
import { Methods } from "./methods.ts";
import { demandMirrored } from "./mirrored-headers.ts";
import { modernResult } from "./modern-result.ts";
import { PREFERENCE_APPLIED } from "./payment-in-band.ts";
import { refusalOf, type PlainRefusal } from "./refusal.ts";
import { demandLegacyRevision, demandModernRevision, eraOf, type Era } from "./revision.ts";
import { JsonRpcError, RPC_ERROR } from "./rpc-error.ts";
import { UnreadableMessageError } from "./unreadable-message.ts";

const ACCEPTED: HttpAnswer = { status: 202 };

/** MCP of both eras over one stateless endpoint: every request stands alone and says itself of which era it is. */
export class McpDoor {
  readonly #pipeline: Pipeline;
  readonly #methods: Methods;
  readonly #batches: BatchAnswers;

  constructor(pipeline: Pipeline, catalogue: Catalogue) {
    this.#pipeline = pipeline;
    this.#methods = new Methods(pipeline, catalogue);
    this.#batches = new BatchAnswers(pipeline, this.#methods);
  }

  /**
   * Answers what a caller that was let in has sent.
   * @throws UnreadableMessageError when it is no JSON-RPC, and nothing else
   */
  async answer(exchange: McpExchange): Promise<HttpAnswer> {
    const { body, version } = exchange;
    if (Array.isArray(body)) return this.#batches.answer(body, exchange);
    const message = readMessage(body);
    const era = eraOf(message, version);
    if (!message || message.id === undefined) return acceptance(message, era, version);
    const { id } = message;
    try {
      if (era === "legacy") {
        demandLegacyRevision(version);
        return { status: 200, json: resultMessage(id, await this.#methods.result(message, era, exchange)) };
      }
      demandModernRevision(message, version);
      demandMirrored(message, exchange.headers);
      return {
        status: 200,
        json: resultMessage(id, modernResult(await this.#methods.result(message, era, exchange))),
      };
    } catch (error) {
      return this.#failure(error, id, era, exchange);
    }
  }

  #failure(thrown: unknown, id: RequestId, era: Era, exchange: McpExchange): HttpAnswer {
    if (thrown instanceof JsonRpcError) return protocolError(thrown, id);
    const refusal = refusalOf(thrown, exchange.inBand, exchange, this.#pipeline);
    if (refusal.kind === "plain") return failedAnswer(refusal, id, exchange);
    const json = resultMessage(id, era === "modern" ? modernResult(refusal.result) : refusal.result);
    return refusal.preferred ? { status: 200, json, headers: [PREFERENCE_APPLIED] } : { status: 200, json };
  }
}

/**
 * What is not to be answered is accepted: nothing comes of notifications, and there are no sessions that a cancellation could belong to.
 * @throws UnreadableMessageError for a modern response: that era's servers ask nothing
 */
function acceptance(message: Message | undefined, era: Era, version: string | undefined): HttpAnswer {
  if (era === "modern") {
    if (message) return ACCEPTED;
    throw new UnreadableMessageError(RPC_ERROR.invalidRequest, "body: is a response, and nothing was asked");
  }
  try {
    demandLegacyRevision(version);
    return ACCEPTED;
  } catch (error) {
    if (error instanceof JsonRpcError) return protocolError(error, null);
    throw error;
  }
}

/** On a stream there are messages only, and the official clients leave out one that has more members than a message, and wait on. */
function failedAnswer({ answer, message }: PlainRefusal, id: RequestId, { stream }: McpExchange): HttpAnswer {
  if (!stream) return laidOver(answer, id, answer.status, message);
  return { status: answer.status, json: errorMessage(id, answer.status, message, answer.json) };
}

/** Nothing is laid over it: clients tell by this body what the server speaks. */
function protocolError({ status, code, message, data }: JsonRpcError, id: RequestId | null): HttpAnswer {
  return { status, json: errorMessage(id, code, message, data) };
}

import type { Catalogue } from "../../app/calls/catalogue.ts";
import type { HttpResponse } from "../http/response.ts";
import type { Pipeline } from "../pipeline.ts";
import { BatchHandler } from "./batch.ts";
import type { McpExchange } from "./exchange.ts";
import { mergeRpcError } from "./merged-error.ts";
import { errorMessage, readMessage, resultMessage, type Message, type RequestId } from "./message.ts";
import { Methods } from "./methods.ts";
import { requireMirroredHeaders } from "./mirrored-headers.ts";
import { modernResult } from "./modern-result.ts";
import { PREFERENCE_APPLIED } from "./payment-in-band.ts";
import { failedCall, type PlainFailure } from "./refusal.ts";
import { requireLegacyRevision, requireModernRevision, eraOf, type Era } from "./revision.ts";
import { JsonRpcError, RPC_ERROR } from "./rpc-error.ts";
import { UnreadableMessageError } from "./unreadable-message.ts";

const ACCEPTED: HttpResponse = { status: 202 };

/** Serves MCP of both eras on one stateless endpoint; each request declares its era. */
export class McpHandler {
  readonly #pipeline: Pipeline;
  readonly #methods: Methods;
  readonly #batches: BatchHandler;

  constructor(pipeline: Pipeline, catalogue: Catalogue) {
    this.#pipeline = pipeline;
    this.#methods = new Methods(pipeline, catalogue);
    this.#batches = new BatchHandler(pipeline, this.#methods);
  }

  /**
   * Handles the message or batch of an authenticated client.
   * @throws UnreadableMessageError when it is not JSON-RPC
   */
  async answer(exchange: McpExchange): Promise<HttpResponse> {
    const { body, version } = exchange;
    if (Array.isArray(body)) return this.#batches.answer(body, exchange);
    const message = readMessage(body);
    const era = eraOf(message, version);
    if (!message || message.id === undefined) return acceptance(message, era, version);
    const { id } = message;
    try {
      if (era === "legacy") {
        requireLegacyRevision(version);
        return { status: 200, json: resultMessage(id, await this.#methods.result(message, era, exchange)) };
      }
      requireModernRevision(message, version);
      requireMirroredHeaders(message, exchange.headers);
      return {
        status: 200,
        json: resultMessage(id, modernResult(await this.#methods.result(message, era, exchange))),
      };
    } catch (error) {
      return this.#failure(error, id, era, exchange);
    }
  }

  #failure(thrown: unknown, id: RequestId, era: Era, exchange: McpExchange): HttpResponse {
    if (thrown instanceof JsonRpcError) return protocolError(thrown, id);
    const refusal = failedCall(thrown, exchange.inBand, exchange, this.#pipeline);
    if (refusal.kind === "plain") return failedAnswer(refusal, id, exchange);
    const json = resultMessage(id, era === "modern" ? modernResult(refusal.result) : refusal.result);
    return refusal.preferred ? { status: 200, json, headers: [PREFERENCE_APPLIED] } : { status: 200, json };
  }
}

/**
 * Accepts notifications and responses without effect: there are no sessions to cancel in.
 * @throws UnreadableMessageError for a modern response: that era's servers send no requests
 */
function acceptance(message: Message | undefined, era: Era, version: string | undefined): HttpResponse {
  if (era === "modern") {
    if (message) return ACCEPTED;
    throw new UnreadableMessageError(
      RPC_ERROR.invalidRequest,
      "body: is a response, but the server sent no request",
    );
  }
  try {
    requireLegacyRevision(version);
    return ACCEPTED;
  } catch (error) {
    if (error instanceof JsonRpcError) return protocolError(error, null);
    throw error;
  }
}

/**
 * An event must be a bare JSON-RPC message: the official clients ignore one with other members and keep
 * waiting.
 */
function failedAnswer(
  { answer, message }: PlainFailure,
  id: RequestId,
  { stream }: McpExchange,
): HttpResponse {
  if (!stream) return mergeRpcError(answer, id, answer.status, message);
  return { status: answer.status, json: errorMessage(id, answer.status, message, answer.json) };
}

/** Without the plain error members: clients detect the supported era by this body. */
function protocolError({ status, code, message, data }: JsonRpcError, id: RequestId | null): HttpResponse {
  return { status, json: errorMessage(id, code, message, data) };
}

import { isMessage, type MessageShape } from "@bufbuild/protobuf";
import { receiptToJson } from "#gen/toolgate/v1/receipt_http.ts";
import {
  callToolRequestFromJson,
  getPriceRequestFromJson,
  getPriceResponseToJson,
} from "#gen/toolgate/v1/tool_service_http.ts";
import {
  CallToolResponseSchema,
  GetPriceResponseSchema,
  ToolService,
} from "#gen/toolgate/v1/tool_service_pb.ts";
import { buyToolRequestFromJson } from "#gen/toolgate/v1/wallet_service_http.ts";
import { BuyToolResponseSchema } from "#gen/toolgate/v1/wallet_service_pb.ts";
import { parseBody } from "#httpjson/runtime/index.ts";
import type { Catalogue } from "../../app/calls/catalogue.ts";
import type { Clock } from "../../domain/core/clock.ts";
import { ToolgateError } from "../../domain/core/errors.ts";
import { isJsonObject, type JsonObject, objectOf } from "../../domain/core/json.ts";
import type { Form, ModelApi } from "../../domain/tools/tool.ts";
import type { HttpExchange } from "../http/exchange.ts";
import type { JsonRoutes } from "../http/json-routes.ts";
import type { HttpResponse } from "../http/response.ts";
import type { Operation, Pipeline } from "../pipeline.ts";
import type { RequestContext } from "../request-context.ts";
import { EventStream, type StreamForm } from "./event-stream.ts";

export interface ModelCallsDeps {
  readonly routes: JsonRoutes;
  readonly pipeline: Pipeline;
  readonly catalogue: Pick<Catalogue, "tools">;
  readonly clock: Clock;
}

/** A call of a tool in one of the forms of its API. */
export interface FormCall {
  readonly tool: string;
  readonly form: Form;
  readonly params: JsonObject;
}

/** A stream that the caller asks for. */
export interface AskedStream {
  readonly form: StreamForm;
  /** Returns the events that end the stream. @param sent number of events before */
  readonly lastEvents: (answer: JsonObject, sent: number) => readonly object[];
  /** Returns an error as an event. Undefined: as in a response. */
  readonly errorEvent?: (error: JsonObject, sent: number) => object;
}

const PRICE = ToolService.method.getPrice;

function readerOf({ method, endpoint }: Operation) {
  if (method === PRICE) return getPriceRequestFromJson;
  return endpoint.key === "wallet" ? buyToolRequestFromJson : callToolRequestFromJson;
}

/** The calls of the model APIs: of their bodies, whole and streamed. */
export class ModelCalls {
  readonly #deps: ModelCallsDeps;
  /** Returns an error as the API has it. */
  readonly #errorOf: (answer: HttpResponse) => HttpResponse;

  constructor(deps: ModelCallsDeps, errorOf: (answer: HttpResponse) => HttpResponse) {
    this.#deps = deps;
    this.#errorOf = errorOf;
  }

  get pipeline(): Pipeline {
    return this.#deps.pipeline;
  }

  get clock(): Clock {
    return this.#deps.clock;
  }

  /** What the tools offer, of one or of all of them. */
  apisOf(tool?: string): ModelApi[] {
    const tools = this.#deps.catalogue.tools.filter(({ name }) => tool === undefined || name === tool);
    return tools.flatMap(({ modelApi }) => modelApi ?? []);
  }

  /** @throws ToolgateError PAYLOAD_TOO_LARGE, INVALID_REQUEST; JsonFieldError for what is not JSON */
  parsed(bytes: Buffer, tool: string): JsonObject {
    this.pipeline.sizes.requireJson(bytes, tool);
    const body = parseBody(bytes);
    if (!isJsonObject(body)) throw new ToolgateError("INVALID_REQUEST", "body: must be a JSON object");
    return body;
  }

  /** Returns the answer of a call, with its charge; or its price, if the operation is that. */
  async run(
    exchange: HttpExchange,
    operation: Operation,
    { tool, form, params }: FormCall,
    more: Partial<RequestContext> = {},
  ): Promise<JsonObject> {
    const { routes, pipeline } = this.#deps;
    const context = { ...routes.context(exchange, "step"), form, ...more };
    const answer = await pipeline.invoke(operation, readerOf(operation)({ tool, params }), context);
    if (isMessage(answer, GetPriceResponseSchema)) return objectOf(getPriceResponseToJson(answer));
    if (!isMessage(answer, CallToolResponseSchema) && !isMessage(answer, BuyToolResponseSchema))
      throw new TypeError(`a tool call was answered with ${answer.$typeName}`);
    return chargedAnswer(answer);
  }

  /** Returns the response to a call. @param stream undefined: the answer is sent whole */
  async respond(
    exchange: HttpExchange,
    operation: Operation,
    call: FormCall,
    stream: AskedStream | undefined,
    more: Partial<RequestContext> = {},
  ): Promise<HttpResponse> {
    if (!stream || operation.method === PRICE)
      return { status: 200, json: await this.run(exchange, operation, call, more) };
    const { response, headers, gone } = exchange;
    const output = new EventStream(response, headers, gone, stream.form);
    try {
      const context = { ...more, output, onStart: () => output.start() };
      const events = stream.lastEvents(await this.run(exchange, operation, call, context), output.sent);
      for (const event of events.slice(0, -1)) void output.write(event);
      return { status: 200, json: events.at(-1), stream: output };
    } catch (error) {
      if (!output.isOpen) {
        output.stop();
        throw error;
      }
      const answer = this.#errorOf(this.#deps.routes.errorResponse(exchange, error));
      const json = stream.errorEvent?.(objectOf(answer.json), output.sent) ?? answer.json;
      return { ...answer, json, stream: output };
    }
  }
}

/** The members `usage`, `receipt_id` and `receipt`; the id twice, as many clients return only `usage`. */
function chargedAnswer({
  result = {},
  receipt,
}: Pick<MessageShape<typeof CallToolResponseSchema>, "result" | "receipt">): JsonObject {
  if (!receipt) return result;
  const { receiptId, debitedUsdcMicrousd } = receipt;
  const usage = {
    ...objectOf(result["usage"]),
    cost_usdc_microusd: Number(debitedUsdcMicrousd),
    receipt_id: receiptId,
  };
  return { ...result, usage, receipt_id: receiptId, receipt: objectOf(receiptToJson(receipt)) };
}

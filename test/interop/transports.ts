import {
  createRegistry,
  type DescMethodUnary,
  type Message,
  type MessageInitShape,
  type DescMessage,
} from "@bufbuild/protobuf";
import { anyUnpack } from "@bufbuild/protobuf/wkt";
import { Code, ConnectError, type Transport } from "@connectrpc/connect";
import * as node from "@connectrpc/connect-node";
import * as web from "@connectrpc/connect-web";
import { status as GrpcStatus, type Metadata } from "@grpc/grpc-js";
import { ErrorBodySchema } from "#gen/toolgate/v1/error_pb.ts";
import { HealthUnavailableSchema } from "#gen/toolgate/v1/health_service_pb.ts";
import { PaymentRequiredSchema } from "#gen/toolgate/v1/payment_pb.ts";
import { routes as services } from "#gen/toolgate/v1/index_http.ts";
import type { RpcCode } from "../../src/domain/core/errors.ts";
import type { Gateway } from "../../src/gateway.ts";
import { callGrpc, failureOf, grpcClient, statusDetails } from "../transport/grpc-client.ts";
import { answered, failedWithDetail, failedWithStatus, type Outcome } from "./outcome.ts";

/** A call as a message and as an HTTP/JSON request. */
export interface Call {
  method: DescMethodUnary;
  request: MessageInitShape<DescMessage>;
  path: string;
  /** Undefined for GET. */
  body?: object;
}

export interface TransportClient {
  /** @param received gets the headers of the response, or of the error */
  call(call: Call, headers: Record<string, string>, received?: (headers: Headers) => void): Promise<Outcome>;
  close(): void;
}

export const TRANSPORTS: readonly [name: string, open: (gateway: Gateway) => TransportClient][] = [
  ["HTTP/JSON", httpClient],
  [
    "Connect with JSON, from a browser's client",
    ({ baseUrl }) => connectClient(web.createConnectTransport({ baseUrl })),
  ],
  [
    "Connect with protobuf, from Node",
    ({ baseUrl }) =>
      connectClient(node.createConnectTransport({ baseUrl, httpVersion: "1.1", useBinaryFormat: true })),
  ],
  [
    "Connect with GET for what only reads",
    ({ baseUrl }) =>
      connectClient(node.createConnectTransport({ baseUrl, httpVersion: "1.1", useHttpGet: true })),
  ],
  [
    "gRPC-Web, from a browser's client",
    ({ baseUrl }) => connectClient(web.createGrpcWebTransport({ baseUrl })),
  ],
  [
    "gRPC-Web with JSON",
    ({ baseUrl }) => connectClient(web.createGrpcWebTransport({ baseUrl, useBinaryFormat: false })),
  ],
  [
    "gRPC, from connect-node",
    ({ grpcAddress }) => {
      const baseUrl = `http://${grpcAddress}`;
      const sessionManager = new node.Http2SessionManager(baseUrl);
      return connectClient(node.createGrpcTransport({ baseUrl, sessionManager }), () =>
        sessionManager.abort(),
      );
    },
  ],
  ["gRPC, from grpc-js", grpcTransportClient],
];

const routes = services.flatMap((service) => service.routes);
const errors = createRegistry(ErrorBodySchema, PaymentRequiredSchema, HealthUnavailableSchema);

/** A response message as HTTP/JSON writes it: enums by name, 64-bit integers as numbers. */
function written(method: DescMethodUnary, message: Message): unknown {
  const route = routes.find((one) => one.method === method);
  if (!route) throw new Error(`${method.toString()} has no route`);
  return JSON.parse(JSON.stringify(route.write(message)));
}

function httpClient({ baseUrl }: Gateway): TransportClient {
  return {
    async call({ path, body }, headers, received) {
      const response = await fetch(baseUrl + path, {
        method: body ? "POST" : "GET",
        headers: { ...headers, ...(body && { "Content-Type": "application/json" }) },
        ...(body && { body: JSON.stringify(body) }),
      });
      received?.(response.headers);
      const json = (await response.json()) as { code?: unknown };
      return response.status === 200 ? answered(json) : failedWithStatus(json, response.status);
    },
    close() {},
  };
}

function connectClient(transport: Transport, close = () => {}): TransportClient {
  return {
    async call({ method, request }, headers, received) {
      try {
        const { message, header } = await transport.unary(method, undefined, undefined, headers, request);
        received?.(header);
        return answered(written(method, message));
      } catch (error) {
        if (!(error instanceof ConnectError)) throw error;
        received?.(error.metadata);
        const rpc = Code[error.code].replace(/(?<=.)([A-Z])/g, "_$1").toUpperCase();
        return failedWithDetail(error.findDetails(errors), rpcCode(rpc), error.rawMessage);
      }
    },
    close,
  };
}

function grpcTransportClient({ grpcAddress }: Gateway): TransportClient {
  const client = grpcClient(grpcAddress);
  return {
    async call({ method, request }, metadata, received) {
      const answer = callGrpc(client, method, request, { metadata: lowerCase(metadata) });
      try {
        const { message, headers } = await answer;
        received?.(headersOf(headers));
        return answered(written(method, message));
      } catch {
        const error = await failureOf(answer);
        received?.(headersOf(error.metadata));
        const details = statusDetails(error).details.flatMap((any) => anyUnpack(any, errors) ?? []);
        return failedWithDetail(details, rpcCode(GrpcStatus[error.code] ?? ""), error.details);
      }
    },
    close: () => client.close(),
  };
}

function headersOf(metadata: Metadata): Headers {
  const texts = Object.entries(metadata.getMap()).filter(([name]) => !name.endsWith("-bin"));
  return new Headers(texts.map(([name, value]) => [name, String(value)]));
}

function lowerCase(headers: Record<string, string>): Record<string, string> {
  return Object.fromEntries(Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]));
}

/** Connect spells CANCELLED with one L. */
function rpcCode(name: string): RpcCode {
  return (name === "CANCELED" ? "CANCELLED" : name) as RpcCode;
}

import type { ConnectError } from "@connectrpc/connect";
import type { UniversalHandler, UniversalServerResponse } from "@connectrpc/connect/protocol";
import { codeToHttpStatus, errorToJsonBytes } from "@connectrpc/connect/protocol-connect";
import type { RequestRecord } from "../../app/operations/request-record.ts";
import { ToolgateError } from "../../domain/core/errors.ts";

/**
 * Whether Connect failed before the call reached the service: it answers INTERNAL to a message that it cannot
 * decode.
 */
export function isUnreadable({ status }: UniversalServerResponse, record: RequestRecord): boolean {
  return status === 500 && record.status === 0;
}

/** INVALID_REQUEST, as over gRPC. */
export function unreadable({ method }: UniversalHandler): ToolgateError {
  const problem = `the request is not a ${method.input.typeName} in the encoding that it names`;
  return new ToolgateError("INVALID_REQUEST", problem);
}

/** Returns the answer with the error in place of its own (Connect protocol, "Unary-Response"). */
export function errorAnswer(answer: UniversalServerResponse, error: ConnectError): UniversalServerResponse {
  const body = errorToJsonBytes(error, undefined);
  const header = new Headers(answer.header);
  header.set("content-length", String(body.byteLength));
  return { ...answer, status: codeToHttpStatus(error.code), header, body: bytes(body) };
}

async function* bytes(body: Uint8Array): AsyncIterable<Uint8Array> {
  yield body;
}

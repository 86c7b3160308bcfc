import type { DescMessage, Message, MessageShape } from "@bufbuild/protobuf";
import { isMessage } from "@bufbuild/protobuf";
import type { WireJson } from "./write.ts";

export interface ErrorBody {
  /** HTTP status; undefined when the error, not the message, decides. */
  readonly status: number | undefined;
  readonly json: WireJson;
}

/** A message with the option `httpjson.v1.error`: returns the body if the detail is this message. */
export interface ErrorBinding {
  readonly typeName: string;
  body(detail: Message): ErrorBody | undefined;
}

/** Called by generated code. `status` 0 leaves the status to the error. */
export function errorBinding<D extends DescMessage>(
  schema: D,
  status: number,
  toJson: (detail: MessageShape<D>) => WireJson,
): ErrorBinding {
  return {
    typeName: schema.typeName,
    body: (detail) =>
      isMessage(detail, schema)
        ? { status: status === 0 ? undefined : status, json: toJson(detail) }
        : undefined,
  };
}

/** Creates the function that finds the HTTP response of an error: its first detail with a binding. */
export function createErrorBody(
  bindings: Iterable<ErrorBinding>,
): (details: readonly Message[]) => ErrorBody | undefined {
  const table = new Map([...bindings].map((binding) => [binding.typeName, binding]));
  return (details) => {
    for (const detail of details) {
      const body = table.get(detail.$typeName)?.body(detail);
      if (body !== undefined) {
        return body;
      }
    }
    return undefined;
  };
}

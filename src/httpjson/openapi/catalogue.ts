import type { DescFile, DescMessage, DescMethod, JsonObject } from "@bufbuild/protobuf";
import type { Annotations } from "../plugin/annotations.ts";
import { GenerationError } from "../plugin/generation-error.ts";
import type { Binding } from "../plugin/http-rule.ts";
import { numberOf, objectsOf, textOf, textsOf } from "./json-option.ts";

/** An error of the catalogue, with the message that is its body. */
export interface ApiError {
  readonly code: string;
  readonly status: number;
  readonly meaning: string;
  readonly body: DescMessage;
  readonly applies: string;
  /** gRPC status code; empty if unset. */
  readonly grpc: string;
}

/** Whether an operation reads the credential. */
export type Credential = "required" | "optional" | "none";

/** The content of `httpjson.v1.document`, indexed by operation. */
export class ApiCatalogue {
  readonly document: JsonObject;
  readonly errors: readonly ApiError[];
  readonly #annotations: Annotations;
  readonly #messages: ReadonlyMap<string, DescMessage>;

  /** @throws GenerationError for a body that is no error message */
  constructor(
    owner: DescFile,
    document: JsonObject,
    allFiles: readonly DescFile[],
    annotations: Annotations,
  ) {
    const messages = allFiles.flatMap((file) => file.messages);
    this.document = document;
    this.#annotations = annotations;
    this.#messages = new Map(messages.map((message) => [message.typeName, message]));
    const common = messages.find((message) => annotations.errorStatus(message) === 0);
    this.errors = objectsOf(document, "errors").map((error) => {
      const name = textOf(error, "body");
      const code = textOf(error, "code");
      const body = name === "" ? common : this.#messages.get(name);
      if (body === undefined || annotations.errorStatus(body) === undefined) {
        throw new GenerationError(
          owner,
          `document: the body of ${code} must be a message with the option httpjson.v1.error`,
        );
      }
      const applies = textOf(error, "applies");
      return {
        code,
        status: numberOf(error, "status") ?? 500,
        meaning: textOf(error, "meaning"),
        body,
        applies,
        grpc: textOf(error, "grpc"),
      };
    });
  }

  operation(method: DescMethod): JsonObject {
    return this.#annotations.operation(method) ?? {};
  }

  credential(method: DescMethod): Credential {
    if (this.document["bearer"] === undefined) return "none";
    switch (textOf(this.operation(method), "credential")) {
      case "CREDENTIAL_OPTIONAL":
        return "optional";
      case "CREDENTIAL_NONE":
        return "none";
      default:
        return "required";
    }
  }

  /** @throws GenerationError for a code that the catalogue does not have */
  errorsOf(binding: Binding): ApiError[] {
    const named = new Set(textsOf(this.operation(binding.method), "errors"));
    for (const code of named) {
      if (!this.errors.some((error) => error.code === code)) {
        throw new GenerationError(
          binding.method,
          `operation: the document has no error ${code}; add it to its catalogue`,
        );
      }
    }
    return this.errors.filter((error) => named.has(error.code) || this.#applies(error.applies, binding));
  }

  /** The errors of an operation that `applies` alone would not give it. */
  ownErrorsOf(binding: Binding): ApiError[] {
    return this.errorsOf(binding).filter((error) => !this.#applies(error.applies, binding));
  }

  /** Error messages with a status of their own. @throws GenerationError for a name that is none */
  errorBodiesOf({ method }: Binding): { message: DescMessage; status: number }[] {
    return textsOf(this.operation(method), "errorBodies").map((name) => {
      const message = this.message(method, name);
      const status = this.#annotations.errorStatus(message);
      if (status === undefined || status === 0) {
        throw new GenerationError(
          method,
          `operation: ${name} has no status; give it the option httpjson.v1.error with one`,
        );
      }
      return { message, status };
    });
  }

  /** @throws GenerationError for a name that no message has */
  message(method: DescMethod, name: string): DescMessage {
    const message = this.#messages.get(name);
    if (message === undefined) throw new GenerationError(method, `operation: there is no message ${name}`);
    return message;
  }

  headersOf(binding: Binding, list: "requestHeaders" | "responseHeaders"): JsonObject[] {
    const named = new Set(textsOf(this.operation(binding.method), list));
    const all = objectsOf(this.document, list);
    for (const name of named) {
      if (!all.some((header) => textOf(header, "name") === name)) {
        throw new GenerationError(
          binding.method,
          `operation: the document has no header ${name}; add it to its list`,
        );
      }
    }
    return all.filter(
      (header) => named.has(textOf(header, "name")) || this.#applies(textOf(header, "applies"), binding),
    );
  }

  #applies(applies: string, { method, body }: Binding): boolean {
    switch (applies) {
      case "APPLIES_EVERYWHERE":
        return true;
      case "APPLIES_WITH_CREDENTIAL":
        return this.credential(method) !== "none";
      case "APPLIES_WITH_BODY":
        return body !== undefined;
      default:
        return false;
    }
  }
}

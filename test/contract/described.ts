import { Ajv2020, type ValidateFunction } from "ajv/dist/2020.js";
import formats from "ajv-formats";
import { expect } from "vitest";
import type { Answer } from "../support/world.ts";

/** Compares the OpenAPI document with the gateway. */

type Json = Record<string, any>; // oxlint-disable-line typescript/no-explicit-any -- any document

/** Headers of HTTP itself, which no document lists. */
const PLAIN_HEADERS =
  /^(allow|cache-control|connection|content-length|content-type|date|keep-alive|transfer-encoding|vary|x-content-type-options|x-accel-buffering)$/;

export class Description {
  readonly #document: Json;
  /** Objects of answers may gain members; here they have none that the document does not name. */
  readonly #closed = ajv();
  readonly #open = ajv();
  readonly #validators = new Map<string, ValidateFunction>();
  readonly #seen = new Set<string>();

  constructor(document: Json) {
    this.#document = document;
    this.#open.addSchema(document, "document");
    const closed = structuredClone(document);
    for (const schema of Object.values<Json>(closed["components"].schemas)) {
      if (schema["properties"]) schema["additionalProperties"] ??= false;
    }
    this.#closed.addSchema(closed, "document");
  }

  /** Every response that the document lists and no test has seen, as `POST /path 200`. */
  unseen(): string[] {
    const all = Object.entries<Json>(this.#document["paths"]).flatMap(([path, item]) =>
      Object.entries<Json>(item).flatMap(([method, operation]) =>
        Object.keys(operation["responses"]).map((status) => `${method.toUpperCase()} ${path} ${status}`),
      ),
    );
    return all.filter((line) => !this.#seen.has(line));
  }

  /** Expects the response, and an accepted request, to match the document. */
  expectDescribed(method: string, target: string, sent: unknown, answer: Answer): void {
    const path = this.#pathOf(method, target.replace(/\?.*$/, ""));
    const at = `/paths/${path.replaceAll("~", "~0").replaceAll("/", "~1")}/${method.toLowerCase()}`;
    const operation = this.#document["paths"][path][method.toLowerCase()];
    const response = operation.responses[String(answer.status)];
    const line = `${method} ${path} ${answer.status}`;
    expect(
      response,
      `${line} is not in the document; the body was ${JSON.stringify(answer.body)}`,
    ).toBeDefined();
    this.#seen.add(line);
    this.#expectHeaders(line, response, answer.headers);
    if (answer.body === undefined) {
      expect(response.content, `${line} has no body`).toBeUndefined();
      return;
    }
    // What many responses share is compiled once.
    const { $ref = `#${at}/responses/${answer.status}/content/application~1json/schema` } =
      response.content["application/json"].schema;
    const where = $ref.slice(1);
    this.#expectValid(line, where, answer.body, path !== "/mcp");
    const { code } = answer.body;
    if (response["x-error-codes"] && code !== undefined) expect(response["x-error-codes"]).toContain(code);
    if (answer.status === 200 && operation.requestBody) {
      this.#expectValid(`${line}: request`, `${at}/requestBody/content/application~1json/schema`, sent, true);
    }
  }

  #pathOf(method: string, path: string): string {
    const paths = Object.keys(this.#document["paths"]);
    const found = paths.find((one) => new RegExp(`^${one.replaceAll(/\{[^}]+\}/g, "[^/]+")}$`).test(path));
    expect(found, `${method} ${path} is not in the document`).toBeDefined();
    return found ?? "";
  }

  #expectHeaders(line: string, response: Json, headers: Headers): void {
    const listed = new Map(Object.keys(response["headers"]).map((name) => [name.toLowerCase(), name]));
    for (const [name, value] of headers) {
      if (PLAIN_HEADERS.test(name)) continue;
      expect(listed.has(name), `${line}: the header ${name} is not in the document`).toBe(true);
      const { schema } = this.#document["components"].headers[listed.get(name) ?? ""];
      if (schema.type === "integer") expect(value, `${line}: ${name}`).toMatch(/^\d+$/);
    }
  }

  #expectValid(line: string, pointer: string, value: unknown, closed: boolean): void {
    const key = `${closed} ${pointer}`;
    const validate =
      this.#validators.get(key) ??
      (closed ? this.#closed : this.#open).compile({
        $ref: `document#${encodeURI(pointer).replaceAll("%7B", "{")}`,
      });
    this.#validators.set(key, validate);
    validate(value);
    expect(validate.errors ?? [], `${line}: ${JSON.stringify(value)}`).toEqual([]);
  }
}

function ajv(): Ajv2020 {
  // The keywords are OpenAPI's, and for its linters to judge.
  const validator = new Ajv2020({ strict: false, allErrors: true });
  formats.default(validator);
  return validator;
}

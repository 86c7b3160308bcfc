import { normaliseEscapes } from "../runtime/percent-encoding.ts";

// The path template syntax of google.api.http (google/api/http.proto, "Path template syntax"):
//
//   Template  = "/" Segments [ ":" Verb ] ;
//   Segments  = Segment { "/" Segment } ;
//   Segment   = "*" | "**" | LITERAL | Variable ;
//   Variable  = "{" FieldPath [ "=" Segments ] "}" ;
//   FieldPath = IDENT { "." IDENT } ;
//   Verb      = LITERAL ;
//
// `/` alone is accepted too. `**` may only be the last segment.

export interface PathTemplate {
  /** Percent-normalised literals, `*` and `**`. */
  readonly segments: readonly string[];
  /** Custom verb without its colon; empty when there is none. */
  readonly verb: string;
  readonly variables: readonly TemplateVariable[];
}

export interface TemplateVariable {
  /** Field path as written, e.g. `book.name`. */
  readonly fieldPath: string;
  /** Index of its first segment. */
  readonly start: number;
  /** Index after its last segment; undefined when that is `**`. */
  readonly end: number | undefined;
  /** Whether it can hold more than one segment. */
  readonly multi: boolean;
}

export class TemplateError extends Error {
  constructor(template: string, problem: string) {
    super(`path template "${template}" ${problem}`);
    this.name = "TemplateError";
  }
}

/** @throws TemplateError */
export function parsePathTemplate(template: string): PathTemplate {
  return new Parser(template).parse();
}

const identifiers = /^[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*$/;
/** Characters that end a literal, or need escapes in a URL path (RFC 3986 3.3). */
const notLiteral = /[\s/{}*:?#"<>\\^`|\u0000-\u001f\u007f]/;

class Parser {
  readonly #template: string;
  #position = 0;
  readonly #segments: string[] = [];
  readonly #variables: TemplateVariable[] = [];

  constructor(template: string) {
    this.#template = template;
  }

  parse(): PathTemplate {
    this.#expect("/", 'must start with "/"');
    if (this.#position < this.#template.length) {
      this.#parseSegments(false);
    }
    const verb = this.#take(":") ? this.#parseLiteral() : "";
    if (this.#position < this.#template.length) {
      throw this.#unexpected();
    }
    if (this.#segments.slice(0, -1).includes("**")) {
      throw this.#error('has "**" before its last segment; it may only be the last one');
    }
    return { segments: this.#segments, verb, variables: this.#variables };
  }

  #parseSegments(inVariable: boolean): void {
    do {
      if (this.#template[this.#position] === "{") {
        if (inVariable) {
          throw this.#error("has a variable inside a variable; name each part as a variable of its own");
        }
        this.#parseVariable();
      } else if (this.#take("**")) {
        this.#segments.push("**");
      } else if (this.#take("*")) {
        this.#segments.push("*");
      } else {
        this.#segments.push(this.#parseLiteral());
      }
    } while (this.#take("/"));
  }

  #parseVariable(): void {
    this.#expect("{", 'must have "{"');
    const length = this.#template.slice(this.#position).search(/[=}]/);
    const fieldPath = this.#template.slice(this.#position, length < 0 ? undefined : this.#position + length);
    if (!identifiers.test(fieldPath)) {
      throw this.#error(`has "${fieldPath}" where a field path such as id or book.name belongs`);
    }
    if (this.#variables.some((variable) => variable.fieldPath === fieldPath)) {
      throw this.#error(`has the variable ${fieldPath} twice`);
    }
    this.#position += fieldPath.length;
    const start = this.#segments.length;
    if (this.#take("=")) {
      this.#parseSegments(true);
    } else {
      this.#segments.push("*");
    }
    this.#expect("}", `does not close the variable ${fieldPath} with "}"`);
    const open = this.#segments.at(-1) === "**";
    const end = this.#segments.length;
    this.#variables.push({ fieldPath, start, end: open ? undefined : end, multi: open || end - start > 1 });
  }

  #parseLiteral(): string {
    const rest = this.#template.slice(this.#position);
    const length = rest.search(notLiteral);
    const literal = length < 0 ? rest : rest.slice(0, length);
    if (literal === "") {
      throw this.#unexpected();
    }
    if (/%(?![0-9A-Fa-f]{2})/.test(literal)) {
      throw this.#error(`has a malformed percent escape in "${literal}"`);
    }
    this.#position += literal.length;
    // Non-ASCII characters are written as escapes of their UTF-8.
    return normaliseEscapes(literal.replace(/[^\u0021-\u007e]+/g, encodeURIComponent));
  }

  #take(token: string): boolean {
    if (!this.#template.startsWith(token, this.#position)) {
      return false;
    }
    this.#position += token.length;
    return true;
  }

  #expect(token: string, problem: string): void {
    if (!this.#take(token)) {
      throw this.#error(problem);
    }
  }

  #unexpected(): TemplateError {
    const character = this.#template[this.#position];
    return this.#error(
      character === undefined
        ? 'ends where a literal, "*", "**" or a variable belongs'
        : `has an unexpected "${character}" at position ${this.#position + 1}`,
    );
  }

  #error(problem: string): TemplateError {
    return new TemplateError(this.#template, problem);
  }
}

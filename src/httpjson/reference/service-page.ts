import type { DescMessage, DescMethod, DescService } from "@bufbuild/protobuf";
import type { ApiCatalogue } from "../openapi/catalogue.ts";
import { commentOf, firstSentence } from "../plugin/comments.ts";
import type { Binding } from "../plugin/http-rule.ts";
import { defined, link, page } from "./markdown.ts";
import { TYPES_PAGE, type Types } from "./types.ts";

export function pageName({ name }: DescService): string {
  return `${name.replaceAll(/(?<=[a-z])(?=[A-Z])/g, "-").toLowerCase()}.md`;
}

/** A service: each method with its routes, request, response and errors. */
export function servicePage(
  service: DescService,
  bindings: readonly Binding[],
  catalogue: ApiCatalogue,
  types: Types,
): string {
  return page([
    `# ${service.name}`,
    "",
    commentOf(service),
    "",
    `\`${service.typeName}\`. [All services](README.md)`,
    "",
    ...service.methods.flatMap((method) =>
      methodSection(
        method,
        bindings.filter((binding) => binding.method === method),
        catalogue,
        types,
      ),
    ),
  ]);
}

function methodSection(
  method: DescMethod,
  bindings: readonly Binding[],
  catalogue: ApiCatalogue,
  types: Types,
): string[] {
  const { name, input, output } = method;
  const [first] = bindings;
  return [
    `## ${name}`,
    "",
    commentOf(method),
    "",
    ...bindings.flatMap((binding) => [route(binding), ""]),
    ...(first === undefined ? [] : [callerLine(first, catalogue), ""]),
    ...messagePart("Request", input, `${name}Request`, types),
    ...messagePart("Response", output, `${name}Response`, types),
  ];
}

/** A request or response. The first sentence of its comment only names it: the method has said that. */
function messagePart(role: string, message: DescMessage, usual: string, types: Types): string[] {
  const called = message.name === usual ? role : `${role} \`${message.name}\``;
  const comment = commentOf(message);
  const more = comment.slice(firstSentence(comment).length).replace(/^\.?\s*/, "");
  const fields = types.fields(message);
  if (fields.length === 0 && more === "") return [];
  return [more === "" ? `${called}:` : defined(called, more), "", ...fields];
}

function route({ httpMethod, pattern, body, query, responseBody }: Binding): string {
  const words = [`\`${httpMethod} ${pattern}\``];
  if (body === "*") words.push("the request is the body");
  else if (body !== undefined) words.push(`\`${body.name}\` is the body`);
  if (query.length > 0) words.push("fields are query parameters");
  if (responseBody !== undefined) words.push(`\`${responseBody.name}\` is the whole answer`);
  return `${words.join("; ")}.`;
}

/** Whether a route reads an API key, and the errors of its own. */
function callerLine(binding: Binding, catalogue: ApiCatalogue): string {
  const credential = {
    required: "API key required.",
    optional: "API key optional; one that is sent must be good.",
    none: "No API key is read.",
  }[catalogue.credential(binding.method)];
  const errors = [
    ...catalogue.ownErrorsOf(binding).map(({ code, status }) => `\`${code}\` (${status})`),
    ...catalogue
      .errorBodiesOf(binding)
      .map(({ message, status }) => `${link(message.name, TYPES_PAGE, message.name)} (${status})`),
  ];
  return errors.length === 0 ? credential : `${credential} Errors: ${errors.join(", ")}.`;
}

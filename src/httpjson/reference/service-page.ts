import type { DescMethod, DescService } from "@bufbuild/protobuf";
import type { ApiCatalogue } from "../openapi/catalogue.ts";
import { commentOf } from "../plugin/comments.ts";
import type { Binding } from "../plugin/http-rule.ts";
import { page, table } from "./markdown.ts";
import type { Types } from "./types.ts";

/** The file name of a service's page. */
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
    `Full name: \`${service.typeName}\`. [All services](README.md)`,
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
  const { name, parent, input, output } = method;
  const [first] = bindings;
  return [
    `## ${name}`,
    "",
    commentOf(method),
    "",
    ...table(
      ["over", "as"],
      [
        ["gRPC, Connect", `\`/${parent.typeName}/${name}\``],
        ...bindings.map((binding) => ["HTTP/JSON", route(binding)]),
        ...(first === undefined ? [] : [["API key", credentialWords(catalogue, method)]]),
      ],
    ),
    `Request \`${input.name}\`: ${commentOf(input)}`,
    "",
    ...types.fields(input),
    `Response \`${output.name}\`: ${commentOf(output)}`,
    "",
    ...types.fields(output),
    ...(first === undefined ? [] : errorTable(first, catalogue)),
  ];
}

function route({ httpMethod, pattern, body, query, responseBody }: Binding): string {
  const words = [`\`${httpMethod} ${pattern}\``];
  if (body === "*") words.push("the request is the body");
  else if (body !== undefined) words.push(`\`${body.name}\` is the body`);
  if (query.length > 0) words.push("fields are query parameters");
  if (responseBody !== undefined) words.push(`\`${responseBody.name}\` is the whole answer`);
  return words.join("; ");
}

function credentialWords(catalogue: ApiCatalogue, method: DescMethod): string {
  const words = {
    required: "required",
    optional: "optional; one that is sent must be good",
    none: "not looked at",
  };
  return words[catalogue.credential(method)];
}

function errorTable(binding: Binding, catalogue: ApiCatalogue): string[] {
  const coded = catalogue
    .errorsOf(binding)
    .map(({ code, status, meaning }) => [String(status), `\`${code}\``, meaning]);
  const bodies = catalogue
    .errorBodiesOf(binding)
    .map(({ message, status }) => [String(status), `\`${message.name}\``, commentOf(message)]);
  return ["Errors:", "", ...table(["HTTP", "code", "meaning"], [...coded, ...bodies])];
}

/** A value interpolated into SQL. */
export interface Interpolation {
  /** e.g. `SYSTEM_ACCOUNTS.suspense`, as in the source. */
  readonly expression: string;
  readonly line: number;
}

/** A part of SQL. Searched only in files about the database. */
const SQL =
  /\b(?:select|insert into|update \S+ (?:\S+ )?set|delete from|truncate|returning|where|order by|group by|limit|join \S+|from \S+|union|values|and \S+|set \S+ =|create|alter|drop|grant|revoke|lock table|listen|notify|copy|call|do \$)(?:\s|$|\()/i;

/** Whether a file speaks to a database. */
export function isAboutTheDatabase(file: string, source: string): boolean {
  return file.startsWith("src/postgres/") || /from "(?:pg|@mikro-orm\/[\w-]+)"/.test(source);
}

/** Every value interpolated into the file's SQL, except module constants and quoted names. */
export function interpolations(source: string): Interpolation[] {
  const found: Interpolation[] = [];
  for (const { text, expressions, at } of templates(source)) {
    if (!SQL.test(text)) continue;
    const line = source.slice(0, at).split("\n").length;
    for (const expression of expressions) if (!isFixed(expression, source)) found.push({ expression, line });
  }
  // SQL that is concatenated with anything but another literal.
  for (const { index, 0: glued } of source.matchAll(
    /(?:"[^"\n]*"|'[^'\n]*'|`[^`]*`)\s*\+|\+\s*(?:"[^"\n]*"|'[^'\n]*'|`[^`]*`)/g,
  )) {
    const continued = glued.endsWith("+") && /^\s*["'`]/.test(source.slice(index + glued.length));
    if (SQL.test(glued) && !continued)
      found.push({
        expression: glued.replaceAll(/\s+/g, " "),
        line: source.slice(0, index).split("\n").length,
      });
  }
  return found;
}

/**
 * A constant of this module or an imported one, one of its members, a list of constants joined, or a quoted
 * name.
 */
function isFixed(expression: string, source: string): boolean {
  if (/^(?:pg\.)?escapeIdentifier\(/.test(expression)) return true;
  const name = /^([A-Za-z_]\w*)(?:\.\w+)?(?:\.join\("[^"]*"\))?$/.exec(expression)?.[1];
  if (name === undefined) return false;
  const declared = new RegExp(
    `^(?:export )?const (?:${name}\\b|\\{[^}]*\\b${name}\\b[^}]*\\} = [A-Z_]+;)`,
    "m",
  );
  const imported = new RegExp(`^import \\{[^}]*\\b${name}\\b[^}]*\\} from`, "m");
  return declared.test(source) || (/^[A-Z]/.test(name) && imported.test(source));
}

interface Template {
  readonly text: string;
  readonly expressions: string[];
  readonly at: number;
}

/** The template literals of a source, the inner ones of expressions too. */
function templates(source: string): Template[] {
  const found: Template[] = [];
  for (let at = 0; at < source.length; at++) at = skip(source, at, found);
  return found;
}

/** The place where what begins here ends: a comment, a string, a template; itself for any other character. */
function skip(source: string, at: number, found: Template[]): number {
  const two = source.slice(at, at + 2);
  if (two === "//") return ending(source, "\n", at);
  if (two === "/*") return ending(source, "*/", at) + 1;
  const character = source[at];
  if (character === '"' || character === "'") return endOfString(source, at, character);
  return character === "`" ? endOfTemplate(source, at, found) : at;
}

function endOfString(source: string, start: number, quote: string): number {
  let at = start + 1;
  while (at < source.length && source[at] !== quote && source[at] !== "\n") at += source[at] === "\\" ? 2 : 1;
  return at;
}

function endOfTemplate(source: string, start: number, found: Template[]): number {
  const template = { text: "", expressions: new Array<string>(), at: start };
  found.push(template);
  let at = start + 1;
  for (; at < source.length && source[at] !== "`"; at++) {
    if (source[at] === "\\") at++;
    else if (source.startsWith("${", at)) {
      const end = endOfExpression(source, at + 2, found);
      template.expressions.push(source.slice(at + 2, end));
      template.text += " ";
      at = end;
    } else template.text += source[at] ?? "";
  }
  return at;
}

function endOfExpression(source: string, start: number, found: Template[]): number {
  let depth = 0;
  for (let at = start; at < source.length; at++) {
    if (source[at] === "}" && depth-- === 0) return at;
    if (source[at] === "{") depth++;
    at = skip(source, at, found);
  }
  return source.length;
}

function ending(source: string, mark: string, from: number): number {
  const at = source.indexOf(mark, from + 1);
  return at < 0 ? source.length : at;
}

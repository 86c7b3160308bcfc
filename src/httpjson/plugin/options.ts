/** Options of the plugin, written `key=value` in buf.gen.yaml. */
export interface PluginOptions {
  /** Which of a field's names is written; both are read. `json` is ProtoJSON's lowerCamelCase. */
  readonly fieldNames: "proto" | "json";
  /** Whether fields without presence are written when they have their default value. */
  readonly emitDefault: boolean;
  /** Whether 64-bit integers are written as numbers within ±(2^53-1); `string` is ProtoJSON. */
  readonly int64: "number" | "string";
  /** Fraction digits of times: as few of 0, 3, 6 or 9 as needed, which is ProtoJSON, or always 3. */
  readonly timestamps: "shortest" | "milliseconds";
  /** Whether a query parameter without a field is an error. */
  readonly unknownQuery: "deny" | "ignore";
  /** Where the reference pages find the catalogue of errors; empty if nowhere. */
  readonly errorsPage: string;
}

const choices: Readonly<Record<string, readonly string[]>> = {
  field_names: ["proto", "json"],
  emit_default: ["true", "false"],
  int64: ["number", "string"],
  timestamps: ["shortest", "milliseconds"],
  unknown_query: ["deny", "ignore"],
};

const KNOWN = [...Object.keys(choices), "errors_page"];

/** Parses the options; the defaults follow ProtoJSON. @throws Error for an unknown option or value */
export function parseOptions(raw: readonly { key: string; value: string }[]): PluginOptions {
  for (const { key, value } of raw) {
    if (!KNOWN.includes(key)) throw new Error(`unknown option ${key}; known are ${KNOWN.join(", ")}`);
    const values = choices[key];
    if (values !== undefined && !values.includes(value)) {
      throw new Error(`option ${key} must be ${values.join(" or ")}, not "${value}"`);
    }
  }
  const given = new Map(raw.map(({ key, value }) => [key, value]));
  return {
    fieldNames: given.get("field_names") === "proto" ? "proto" : "json",
    emitDefault: given.get("emit_default") === "true",
    int64: given.get("int64") === "number" ? "number" : "string",
    timestamps: given.get("timestamps") === "milliseconds" ? "milliseconds" : "shortest",
    unknownQuery: given.get("unknown_query") === "ignore" ? "ignore" : "deny",
    errorsPage: given.get("errors_page") ?? "",
  };
}

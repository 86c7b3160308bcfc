import { useState } from "react";
import { Field, Input, Select, Textarea } from "../../ui/index.ts";
import type { ParamField, ParamTexts } from "./schema.ts";

interface ParamsFormProps {
  fields: readonly ParamField[];
  texts: ParamTexts;
  fieldErrors: Readonly<Record<string, string>>;
  onChange: (texts: ParamTexts) => void;
}

/** Inputs for the tool's parameters. Optional ones without an example are collapsed. */
export function ParamsForm({ fields, texts, fieldErrors, onChange }: ParamsFormProps) {
  // A visible field stays visible while it is cleared.
  const [first] = useState(texts);
  const inSight = ({ name, required }: ParamField) => required || (first[name] ?? "") !== "";
  const shown = fields.filter(inSight);
  const folded = fields.filter((field) => !inSight(field));
  const row = (field: ParamField) => (
    <Param
      key={field.name}
      field={field}
      text={texts[field.name] ?? ""}
      fieldError={fieldErrors[field.name]}
      onChange={(text) => onChange({ ...texts, [field.name]: text })}
    />
  );
  if (fields.length === 0) return <p className="soft">This tool takes no parameters.</p>;
  return (
    <>
      {shown.map(row)}
      {folded.length > 0 && (
        <details
          className="play-more"
          open={shown.length === 0 || folded.some(({ name }) => fieldErrors[name] !== undefined)}
        >
          <summary>
            {shown.length === 0 ? "Parameters" : "More parameters"} ({folded.length})
          </summary>
          <div className="stack">{folded.map(row)}</div>
        </details>
      )}
    </>
  );
}

function Param({
  field: { name, kind, required, description, options },
  text,
  fieldError,
  onChange,
}: {
  field: ParamField;
  text: string;
  fieldError: string | undefined;
  onChange: (text: string) => void;
}) {
  const hint = kind === "json" ? `${description}${description === "" ? "" : ". "}As JSON` : description;
  return (
    <Field label={name} optional={!required} error={fieldError} {...(hint !== "" && { hint })}>
      {(control) => {
        const common = { ...control, required, value: text };
        switch (kind) {
          case "choice":
          case "boolean": {
            const choices = kind === "boolean" ? ["true", "false"] : options;
            const all = required && text !== "" ? choices : ["", ...choices];
            return (
              <Select
                {...common}
                options={all.map((value) => ({ value, label: value === "" ? "—" : value }))}
                onChange={({ target }) => onChange(target.value)}
              />
            );
          }
          case "json":
          case "text":
            return (
              <Textarea
                {...common}
                className="code-input"
                rows={Math.min(12, Math.max(3, text.split("\n").length))}
                onChange={({ target }) => onChange(target.value)}
              />
            );
          default:
            return (
              <Input
                {...common}
                inputMode={kind === "line" ? "text" : "decimal"}
                onChange={({ target }) => onChange(target.value)}
              />
            );
        }
      }}
    </Field>
  );
}

import { useState } from "react";
import { ToolStatus } from "#gen/toolgate/v1/tool_pb.ts";
import { useCatalogue } from "../../rpc.ts";
import { formatUtcDay } from "../../format.ts";
import {
  Checkbox,
  Choice,
  ErrorNote,
  Field,
  Input,
  Select,
  Skeleton,
  TextField,
  SelectField,
} from "../../ui/index.ts";
import { BudgetFields, LimitField } from "./budget-fields.tsx";
import { EXPIRY_OPTIONS, type FieldErrors, KEEP_EXPIRY, type KeyForm, SCOPES } from "./key-form-values.ts";
import { useGroups } from "./use-keys.ts";

export interface PartProps {
  form: KeyForm;
  fieldErrors: FieldErrors;
  change: (change: Partial<KeyForm>) => void;
}

/** The fields of a key. @param isNew the scopes of a key never change */
export function KeyFields({ isNew, ...part }: PartProps & { isNew: boolean }) {
  const { form, fieldErrors, change } = part;
  return (
    <>
      <div className="form-columns">
        <NameField
          {...part}
          hint="For example, the agent that will use it" // The form was just opened to be filled in.
          // oxlint-disable-next-line jsx-a11y/no-autofocus
          autoFocus
        />
        <ExpiryField {...part} />
        <LimitField name="perCall" {...part} />
        <BudgetFields form={form} fieldErrors={fieldErrors} change={change} />
        <GroupField {...part} />
      </div>
      {isNew && <Scopes {...part} />}
      <Tools {...part} />
    </>
  );
}

export function NameField({
  form,
  fieldErrors,
  change,
  ...field
}: PartProps & { hint: string; autoFocus?: boolean }) {
  return (
    <TextField
      label="Name"
      error={fieldErrors.name}
      maxLength={100}
      value={form.name}
      onChange={({ target }) => change({ name: target.value })}
      {...field}
    />
  );
}

function GroupField({ form, change }: PartProps) {
  const { data } = useGroups();
  if (!data || data.groups.length === 0) return null;
  const options = data.groups.map(({ groupId, name }) => ({ value: groupId, label: name }));
  return (
    <SelectField
      label="Group"
      hint="Its keys share the group’s limits"
      options={[{ value: "", label: "None" }, ...options]}
      value={form.groupId}
      onChange={({ target }) => change({ groupId: target.value })}
    />
  );
}

const EXPIRY_HINTS: Readonly<Record<string, string>> = {
  "": "Works until revoked",
  date: "At the end of that day (UTC)",
  keep: "When it did before",
};

export function ExpiryField({ form, fieldErrors, change }: PartProps) {
  const [today] = useState(() => formatUtcDay(new Date()));
  return (
    <Field
      label="Expires"
      error={fieldErrors.expiryDate}
      hint={EXPIRY_HINTS[form.expires] ?? "Stops working then"}
    >
      {(control) => (
        <div className="row row-even">
          <Select
            {...control}
            options={form.keptExpiry ? [KEEP_EXPIRY, ...EXPIRY_OPTIONS] : EXPIRY_OPTIONS}
            value={form.expires}
            onChange={({ target }) => change({ expires: target.value })}
          />
          {form.expires === "date" && (
            <Input
              type="date"
              aria-label="Last day"
              min={today}
              value={form.expiryDate}
              onChange={({ target }) => change({ expiryDate: target.value })}
            />
          )}
        </div>
      )}
    </Field>
  );
}

/** @param offered the scopes to choose from; a single one is necessary */
export function Scopes({ form, fieldErrors, change, offered }: PartProps & { offered?: readonly string[] }) {
  const shown = offered?.map(scopeInfo) ?? SCOPES;
  return (
    <fieldset className="group">
      <legend className="legend">Permissions</legend>
      <div className="choices">
        {shown.map(({ scope, title, text }) => (
          <Checkbox
            key={scope}
            label={
              <>
                {title} <code className="faint">{scope}</code>
              </>
            }
            hint={text}
            checked={form.scopes.includes(scope)}
            disabled={shown.length === 1}
            onChange={() => change({ scopes: toggled(form.scopes, scope) })}
          />
        ))}
      </div>
      <FieldError text={fieldErrors.scopes} />
    </fieldset>
  );
}

function scopeInfo(scope: string): { scope: string; title: string; text: string } {
  return SCOPES.find((one) => one.scope === scope) ?? { scope, title: "Other", text: "custom tools" };
}

const ALLOWED_TOOLS = [
  { value: "all", label: "All tools" },
  { value: "some", label: "Selected tools" },
] as const;

export function Tools({ form, fieldErrors, change }: PartProps) {
  return (
    <fieldset className="group">
      <legend className="legend">Allowed tools</legend>
      <div>
        <Choice
          label="Allowed tools"
          options={ALLOWED_TOOLS}
          value={form.onlySelectedTools ? "some" : "all"}
          onChange={(value) => change({ onlySelectedTools: value === "some" })}
        />
      </div>
      {form.onlySelectedTools && <ToolList form={form} change={change} />}
      <FieldError text={fieldErrors.tools} />
    </fieldset>
  );
}

function ToolList({ form, change }: Pick<PartProps, "form" | "change">) {
  const { data, error, refetch } = useCatalogue();
  if (error) return <ErrorNote error={error} onRetry={() => void refetch()} />;
  if (!data) return <Skeleton lines={3} />;
  return (
    <div className="choices">
      {data.tools
        .filter(({ status }) => status === ToolStatus.ACTIVE)
        .map(({ name, description }) => (
          <Checkbox
            key={name}
            label={<code>{name}</code>}
            hint={firstSentence(description)}
            checked={form.tools.includes(name)}
            onChange={() => change({ tools: toggled(form.tools, name) })}
          />
        ))}
    </div>
  );
}

function FieldError({ text }: { text: string | undefined }) {
  return text === undefined ? null : (
    <p className="hint hint-bad" role="alert">
      {text}
    </p>
  );
}

function toggled(chosen: readonly string[], one: string): string[] {
  return chosen.includes(one) ? chosen.filter((other) => other !== one) : [...chosen, one];
}

function firstSentence(text: string): string {
  return /^.*?[.!?](?=\s|$)/.exec(text)?.[0] ?? text;
}

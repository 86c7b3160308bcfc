import { useState, type FormEvent } from "react";
import { ToolStatus } from "#gen/toolgate/v1/tool_pb.ts";
import { useCatalogue } from "../../catalogue.ts";
import { formatUtcDay } from "../../format.ts";
import {
  Button,
  Card,
  Checkbox,
  Choice,
  ErrorNote,
  Field,
  focusInvalidField,
  Input,
  Select,
  Skeleton,
} from "../../ui/index.ts";
import {
  emptyForm,
  EXPIRY_OPTIONS,
  validate,
  toRequest,
  type FieldErrors,
  type NewKeyForm,
} from "./new-key.ts";
import { SCOPES, DEFAULT_SCOPES } from "./scopes.ts";
import { useCreateKey } from "./use-keys.ts";

type Change = (change: Partial<NewKeyForm>) => void;

/** Form for a new key. Calls `onDone` after creation or on Cancel. */
export function CreateKey({ onDone }: { onDone: () => void }) {
  const [form, setForm] = useState(() => emptyForm(DEFAULT_SCOPES));
  const [fieldErrors, setFieldErrors] = useState<FieldErrors>({});
  const { create, error, isPending } = useCreateKey();
  const change: Change = (part) => {
    setForm({ ...form, ...part });
    setFieldErrors({});
  };
  const submit = (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault();
    const now = new Date();
    const found = validate(form, now);
    setFieldErrors(found);
    focusInvalidField(event.currentTarget);
    if (Object.keys(found).length === 0) create(toRequest(form, now), onDone);
  };
  return (
    <Card title="New key">
      <form className="stack key-form" onSubmit={submit} noValidate>
        <div className="form-columns">
          <Field label="Name" error={fieldErrors.name} hint="For example, the agent that will use it">
            {(control) => (
              <Input
                {...control}
                // The form was just opened to be filled in.
                // oxlint-disable-next-line jsx-a11y/no-autofocus
                autoFocus
                maxLength={100}
                value={form.name}
                onChange={({ target }) => change({ name: target.value })}
              />
            )}
          </Field>
          <ExpiryField form={form} fieldErrors={fieldErrors} change={change} />
          <AmountField
            label="Limit per call"
            name="perCall"
            form={form}
            fieldErrors={fieldErrors}
            change={change}
          >
            Calls that cost more are rejected
          </AmountField>
          <AmountField
            label="Daily limit"
            name="perDay"
            form={form}
            fieldErrors={fieldErrors}
            change={change}
          >
            Balance spent per day; resets at 00:00 UTC
          </AmountField>
        </div>
        <Scopes form={form} fieldErrors={fieldErrors} change={change} />
        <Tools form={form} fieldErrors={fieldErrors} change={change} />
        <ErrorNote error={error} />
        <div className="actions">
          <Button type="submit" tone="primary" busy={isPending}>
            Create key
          </Button>
          <Button tone="quiet" onClick={onDone}>
            Cancel
          </Button>
        </div>
      </form>
    </Card>
  );
}

interface PartProps {
  form: NewKeyForm;
  fieldErrors: FieldErrors;
  change: Change;
}

function AmountField({
  label,
  name,
  form,
  fieldErrors,
  change,
  children,
}: PartProps & { label: string; name: "perCall" | "perDay"; children: string }) {
  return (
    <Field label={label} optional error={fieldErrors[name]} hint={children}>
      {(control) => (
        <Input
          {...control}
          unit="$"
          inputMode="decimal"
          placeholder="No limit"
          value={form[name]}
          onChange={({ target }) => change({ [name]: target.value })}
        />
      )}
    </Field>
  );
}

const EXPIRY_HINTS: Readonly<Record<string, string>> = {
  "": "Works until revoked",
  date: "At the end of that day (UTC)",
};

function ExpiryField({ form, fieldErrors, change }: PartProps) {
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
            options={EXPIRY_OPTIONS}
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

function Scopes({ form, fieldErrors, change }: PartProps) {
  return (
    <fieldset className="group">
      <legend className="legend">Permissions</legend>
      <div className="choices">
        {SCOPES.map(({ scope, title, text }) => (
          <Checkbox
            key={scope}
            label={
              <>
                {title} <code className="faint">{scope}</code>
              </>
            }
            hint={text}
            checked={form.scopes.includes(scope)}
            onChange={() => change({ scopes: toggled(form.scopes, scope) })}
          />
        ))}
      </div>
      <FieldError text={fieldErrors.scopes} />
    </fieldset>
  );
}

const ALLOWED_TOOLS = [
  { value: "all", label: "All tools" },
  { value: "some", label: "Selected tools" },
] as const;

function Tools({ form, fieldErrors, change }: PartProps) {
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

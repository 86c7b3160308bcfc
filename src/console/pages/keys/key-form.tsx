import { useState, type FormEvent, type ReactNode } from "react";
import type { ApiKey } from "#gen/toolgate/v1/key_service_pb.ts";
import { createFormMemory, useFormMemory } from "../../form-memory.ts";
import { Button, Card, ErrorNote, focusInvalidField, showToast } from "../../ui/index.ts";
import { KeyFields, type PartProps } from "./key-fields.tsx";
import {
  emptyForm,
  fieldErrorsOf,
  formOf,
  type FieldErrors,
  type KeyForm as Values,
  toChange,
  toRequest,
  validate,
  DEFAULT_SCOPES,
} from "./key-form-values.ts";
import { useCreateKey, useUpdateKey } from "./use-keys.ts";

/** Form for a new key. Calls `onDone` after creation or on Cancel. */
export function CreateKey({ onDone }: { onDone: () => void }) {
  const { create, error, isPending } = useCreateKey();
  return (
    <KeyForm
      name="new"
      title="New key"
      initial={emptyForm(DEFAULT_SCOPES)}
      submitLabel="Create key"
      isNew
      error={error}
      isPending={isPending}
      onSubmit={(form, now, done) => create(toRequest(form, now), done)}
      onDone={onDone}
    />
  );
}

/** Form to edit a key. Calls `onDone` after the change or on Cancel. */
export function EditKey({ edited, onDone }: { edited: ApiKey; onDone: () => void }) {
  const { mutate, error, isPending } = useUpdateKey();
  const save = (form: Values, now: Date, done: () => void) => {
    const onSuccess = () => {
      showToast(`“${form.name.trim()}” saved`);
      done();
    };
    mutate(toChange(edited, form, now), { onSuccess });
  };
  return (
    <KeyForm
      name={edited.keyId}
      title={`Edit “${edited.name}”`}
      initial={formOf(edited)}
      submitLabel="Save key"
      isNew={false}
      error={error}
      isPending={isPending}
      onSubmit={save}
      onDone={onDone}
    />
  );
}

interface KeyFormProps {
  /** `new`, `key_…` or what else the form is remembered by. */
  name: string;
  title: string;
  initial: Values;
  submitLabel: string;
  cancelLabel?: string;
  isNew?: boolean;
  /** An error of the server; one that names a field is shown there. */
  error: Error | null;
  isPending: boolean;
  /** Why the form cannot be sent. */
  blockedHint?: string | undefined;
  onSubmit: (form: Values, now: Date, done: () => void) => void;
  /** Closes the form after it was sent. */
  onDone: () => void;
  onCancel?: () => void;
  /** Renders the fields; default: all fields of a key. */
  children?: (part: PartProps) => ReactNode;
}

const memory = createFormMemory<Values>();

export function KeyForm({ name, initial, isNew = false, error, isPending, ...rest }: KeyFormProps) {
  const { title, submitLabel, cancelLabel = "Cancel", blockedHint, children, ...on } = rest;
  const [form, setForm, forget] = useFormMemory(memory, name, () => initial);
  const [found, setFound] = useState<FieldErrors>({});
  const [corrected, setCorrected] = useState<Error | null>(null);
  const refused = error === corrected ? {} : fieldErrorsOf(error);
  const fieldErrors = { ...refused, ...found };
  const change = (part: Partial<Values>) => {
    setForm({ ...form, ...part });
    setFound({});
    setCorrected(error);
  };
  const done = () => {
    forget();
    on.onDone();
  };
  const submit = (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault();
    const now = new Date();
    const problems = validate(form, now);
    setFound(problems);
    focusInvalidField(event.currentTarget);
    if (Object.keys(problems).length === 0) on.onSubmit(form, now, done);
  };
  const part = { form, fieldErrors, change };
  return (
    <Card title={title}>
      <form className="stack key-form" onSubmit={submit} noValidate>
        {children?.(part) ?? <KeyFields {...part} isNew={isNew} />}
        <ErrorNote error={Object.keys(fieldErrorsOf(error)).length > 0 ? null : error} />
        <div className="actions">
          <Button type="submit" tone="primary" busy={isPending} disabled={blockedHint !== undefined}>
            {submitLabel}
          </Button>
          <Button tone={on.onCancel ? "plain" : "quiet"} onClick={on.onCancel ?? done}>
            {cancelLabel}
          </Button>
          {blockedHint !== undefined && <span className="hint">{blockedHint}</span>}
        </div>
      </form>
    </Card>
  );
}

import { useMutation } from "@connectrpc/connect-query";
import { useState, type FormEvent } from "react";
import { WebhookService, type WebhookEndpoint } from "#gen/toolgate/v1/webhook_service_pb.ts";
import { createFormMemory, useFormMemory } from "../../form-memory.ts";
import { Button, Checkbox, ErrorNote, focusInvalidField, showToast, TextField } from "../../ui/index.ts";
import { reloadWebhooks } from "./dialogs.tsx";

interface FormProps {
  /** Undefined: a new one. */
  readonly endpoint?: WebhookEndpoint;
  readonly types: readonly string[];
  readonly deployment: boolean;
  /** Called with the secret of a new endpoint, and without one on Cancel and after a change. */
  readonly onDone: (created?: { url: string; secret: string }) => void;
}

const memory = createFormMemory<{ readonly url: string; readonly chosen: readonly string[] }>();

export function EndpointForm({ endpoint, types, deployment, onDone }: FormProps) {
  const name = endpoint?.endpointId ?? `new ${deployment}`;
  const [{ url, chosen }, change, forget] = useFormMemory(memory, name, () => ({
    url: endpoint?.url ?? "",
    chosen: endpoint?.types ?? types,
  }));
  const done: typeof onDone = (created) => {
    forget();
    onDone(created);
  };
  const saved: typeof onDone = (created) => {
    if (!created) showToast("Endpoint saved");
    done(created);
    void reloadWebhooks();
  };
  const [problem, setProblem] = useState<{ url?: string; types?: string }>({});
  const create = useMutation(WebhookService.method.createWebhookEndpoint);
  const update = useMutation(WebhookService.method.updateWebhookEndpoint);
  const submit = (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault();
    const found = {
      ...(!/^https?:\/\/./.test(url) && { url: "Enter a URL that begins with https://." }),
      ...(chosen.length === 0 && { types: "Select at least one type." }),
    };
    setProblem(found);
    focusInvalidField(event.currentTarget);
    if (Object.keys(found).length > 0) return;
    const requested = { url, types: [...chosen], deployment };
    if (endpoint)
      update.mutate({ ...requested, endpointId: endpoint.endpointId }, { onSuccess: () => saved() });
    else create.mutate(requested, { onSuccess: ({ secret }) => saved({ url, secret }) });
  };
  return (
    <form className="stack" onSubmit={submit} noValidate>
      <TextField
        label="URL"
        error={problem.url}
        hint="Receives POST requests; answers 2xx within 15 seconds"
        type="url"
        placeholder="https://"
        value={url}
        onChange={({ target }) => change({ url: target.value, chosen })}
      />
      <fieldset className="group">
        <legend className="legend">Events</legend>
        <div className="choices">
          {types.map((type) => (
            <Checkbox
              key={type}
              label={<code>{type}</code>}
              checked={chosen.includes(type)}
              onChange={({ target }) =>
                change({
                  url,
                  chosen: types.filter((one) => (one === type ? target.checked : chosen.includes(one))),
                })
              }
            />
          ))}
        </div>
        {problem.types !== undefined && (
          <p className="hint hint-bad" role="alert">
            {problem.types}
          </p>
        )}
      </fieldset>
      <ErrorNote error={create.error ?? update.error} />
      <div className="actions">
        <Button type="submit" tone="primary" busy={create.isPending || update.isPending}>
          {endpoint ? "Save" : "Add endpoint"}
        </Button>
        <Button tone="quiet" onClick={() => done()}>
          Cancel
        </Button>
      </div>
    </form>
  );
}

import { useMutation } from "@connectrpc/connect-query";
import { useState, type FormEvent } from "react";
import { WebhookService, type WebhookEndpoint } from "#gen/toolgate/v1/webhook_service_pb.ts";
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

export function EndpointForm({ endpoint, types, deployment, onDone }: FormProps) {
  const [url, setUrl] = useState(endpoint?.url ?? "");
  const [chosen, setChosen] = useState<readonly string[]>(endpoint?.types ?? types);
  const [problem, setProblem] = useState<{ url?: string; types?: string }>({});
  const create = useMutation(WebhookService.method.createWebhookEndpoint);
  const update = useMutation(WebhookService.method.updateWebhookEndpoint);
  const submit = async (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault();
    const form = event.currentTarget;
    const found = {
      ...(!/^https?:\/\/./.test(url) && { url: "Enter a URL that begins with https://." }),
      ...(chosen.length === 0 && { types: "Select at least one type." }),
    };
    setProblem(found);
    focusInvalidField(form);
    if (Object.keys(found).length > 0) return;
    const requested = { url, types: [...chosen], deployment };
    // Errors are shown below the form.
    try {
      if (endpoint) {
        await update.mutateAsync({ ...requested, endpointId: endpoint.endpointId });
        showToast("Endpoint saved");
        onDone();
      } else {
        const { secret } = await create.mutateAsync(requested);
        onDone({ url, secret });
      }
    } catch {
      return;
    }
    await reloadWebhooks();
  };
  return (
    <form className="stack" onSubmit={(event) => void submit(event)} noValidate>
      <TextField
        label="URL"
        error={problem.url}
        hint="Receives POST requests; answers 2xx within 15 seconds"
        type="url"
        placeholder="https://"
        value={url}
        onChange={({ target }) => setUrl(target.value)}
      />
      <fieldset className="group">
        <legend className="legend">Events</legend>
        <div className="choices">
          {types.map((type) => (
            <Checkbox
              key={type}
              label={<code>{type}</code>}
              checked={chosen.includes(type)}
              onChange={() =>
                setChosen(chosen.includes(type) ? chosen.filter((one) => one !== type) : [...chosen, type])
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
        <Button tone="quiet" onClick={() => onDone()}>
          Cancel
        </Button>
      </div>
    </form>
  );
}

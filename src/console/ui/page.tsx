import { useEffect, useRef, type ReactNode } from "react";
import { classes } from "./classes.ts";
import { Skeleton } from "./empty-state.tsx";

interface PageProps {
  title: string;
  lead?: ReactNode;
  actions?: ReactNode;
  /** Shows one placeholder instead of the content, so that nothing moves while its parts load. */
  loading?: boolean;
  children: ReactNode;
}

/** A page with its title, which also becomes the window's title and receives the focus. */
export function Page({ title, lead, actions, loading = false, children }: PageProps) {
  const heading = useRef<HTMLHeadingElement>(null);
  useEffect(() => {
    document.title = `${title} · Toolgate`;
    heading.current?.focus({ preventScroll: true });
    scrollTo(0, 0);
  }, [title]);
  return (
    <div className="page">
      <header className="page-head">
        <div>
          <h1 ref={heading} tabIndex={-1}>
            {title}
          </h1>
          {lead !== undefined && <p className="lead">{lead}</p>}
        </div>
        {actions !== undefined && <div className="actions">{actions}</div>}
      </header>
      {loading ? (
        <Card>
          <Skeleton lines={10} height={24} />
        </Card>
      ) : (
        children
      )}
    </div>
  );
}

interface CardProps {
  title?: string;
  note?: ReactNode;
  actions?: ReactNode;
  flush?: boolean;
  children: ReactNode;
}

/** A card. `flush` removes the padding, for tables. */
export function Card({ title, note, actions, flush = false, children }: CardProps) {
  return (
    <section className={classes("card", flush && "card-flush")} aria-label={title}>
      {(title !== undefined || actions !== undefined) && (
        <header className="card-head">
          {title !== undefined && <h2>{title}</h2>}
          {note !== undefined && <span className="faint">{note}</span>}
          {actions !== undefined && <div className="actions">{actions}</div>}
        </header>
      )}
      <div className="card-body">{children}</div>
    </section>
  );
}

/** A responsive grid; `wide-first` makes the first column twice as wide. */
export function Columns({
  kind = "two",
  children,
}: {
  kind?: "two" | "three" | "wide-first";
  children: ReactNode;
}) {
  return <div className={`columns columns-${kind}`}>{children}</div>;
}

/** A description list; omits undefined values. */
export function Facts({ facts }: { facts: readonly (readonly [name: string, value: ReactNode])[] }) {
  return (
    <dl className="facts">
      {facts
        .filter(([, value]) => value !== undefined)
        .map(([name, value]) => (
          <div key={name}>
            <dt>{name}</dt>
            <dd>{value}</dd>
          </div>
        ))}
    </dl>
  );
}

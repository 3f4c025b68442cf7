import { type ReactNode, useEffect, useRef, useState } from "react";

type Props = { label: string; className?: string; children: ReactNode };

/** A part of the page that may scroll by itself. Where it does, keys reach it, and it has a name. */
export function Scroll({ label, className = "", children }: Props) {
  const part = useRef<HTMLDivElement>(null);
  const [scrolls, setScrolls] = useState(false);
  useEffect(() => {
    const { current } = part;
    if (!current) return;
    const measure = () => setScrolls(current.scrollWidth > current.clientWidth || current.scrollHeight > current.clientHeight);
    const observer = new ResizeObserver(measure);
    observer.observe(current);
    for (const child of current.children) observer.observe(child);
    return () => observer.disconnect();
  }); // each time: a table may have taken the place of its skeleton
  return (
    <div ref={part} className={className} {...(scrolls && { tabIndex: 0, role: "region", "aria-label": label })}>
      {children}
    </div>
  );
}

/** A bar chart: one bar for each item, with its value where somebody points. Who does not see it has the table next to it. */
export function Bars({ label, items }: { label: string; items: { key: string; name: string; value: number; text: string }[] }) {
  const height = 120;
  const width = 12;
  const most = Math.max(...items.map(({ value }) => value), 0);
  return (
    <svg
      role="img"
      aria-label={label}
      viewBox={`0 0 ${Math.max(items.length, 1) * width} ${height}`}
      preserveAspectRatio="none"
      className="h-36 w-full rounded-lg border border-line bg-panel px-2 pt-2"
    >
      {items.map(({ key, name, value, text }, at) => {
        const tall = most === 0 ? 0 : Math.max((value / most) * height, value > 0 ? 1 : 0);
        return (
          <g key={key}>
            <title>{`${name}: ${text}`}</title>
            <rect x={at * width} y={0} width={width} height={height} fill="transparent" />
            <rect x={at * width + 1} y={height - tall} width={width - 2} height={tall} className="fill-accent" />
          </g>
        );
      })}
    </svg>
  );
}

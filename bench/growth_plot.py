"""growth.svg: a row of log-log plots, one per thing that grew; a line per figure, each relative to its smallest size."""
import math

WIDTH, HEIGHT, LEFT, TOP, GAP = 300, 260, 46, 34, 30
COLOURS = ["#1f5fa8", "#b3541e", "#2f7d4f", "#8a3a8f", "#a8832a", "#3a8f8a", "#a33a4a", "#555555"]


def _x(sizes, size):
    lowest, highest = math.log10(sizes[0]), math.log10(sizes[-1])
    return LEFT + (math.log10(size) - lowest) / (highest - lowest or 1) * (WIDTH - LEFT - 10)


def _y(value, lowest, highest):
    return TOP + (highest - math.log10(value)) / (highest - lowest) * (HEIGHT - TOP - 30)


def _plot(axis, entry, slope):
    sizes = entry["sizes"]
    relative = {name: [max(v, 1e-6) / max(values[0], 1e-6) for v in values] for name, values in entry["figures"].items()}
    flat = [math.log10(v) for values in relative.values() for v in values]
    lowest, highest = math.floor(min(flat)), max(math.ceil(max(flat)), 1)
    out = [f'<text x="{LEFT}" y="18" font-weight="bold">{axis}</text>']
    for decade in range(lowest, highest + 1):
        y = _y(10.0 ** decade, lowest, highest)
        out.append(f'<path d="M{LEFT} {y:.1f}H{WIDTH - 10}" stroke="#ccc"/><text x="{LEFT - 4}" y="{y + 4:.1f}" text-anchor="end">x{10.0 ** decade:g}</text>')
    for size in sizes:
        out.append(f'<text x="{_x(sizes, size):.1f}" y="{HEIGHT - 12}" text-anchor="middle">{size:,}</text>')
    for colour, (name, values) in zip(COLOURS, relative.items()):
        points = " ".join(f"{_x(sizes, s):.1f},{_y(v, lowest, highest):.1f}" for s, v in zip(sizes, values))
        out.append(f'<polyline points="{points}" fill="none" stroke="{colour}" stroke-width="2"><title>{name}: slope {slope(sizes, values):.2f}</title></polyline>')
    return out


def svg(axes, slope):
    names = next(iter(axes.values()))["figures"]
    width, height = (WIDTH + GAP) * len(axes), HEIGHT + 16 * len(names) + 20
    out = [f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" viewBox="0 0 {width} {height}" '
           'font-family="sans-serif" font-size="11"><rect width="100%" height="100%" fill="#fff"/>']
    for i, (axis, entry) in enumerate(axes.items()):
        out += [f'<g transform="translate({i * (WIDTH + GAP)},0)">', *_plot(axis, entry, slope)]
        for row, (colour, name) in enumerate(zip(COLOURS, names)):
            y = HEIGHT + 12 + 16 * row
            label = name if i == 0 else ""
            out.append(f'<path d="M{LEFT} {y - 4}h16" stroke="{colour}" stroke-width="2"/><text x="{LEFT + 22}" y="{y}">{label} '
                       f'{slope(entry["sizes"], entry["figures"][name]):+.2f}</text>')
        out.append("</g>")
    return "\n".join([*out, "</svg>"]) + "\n"

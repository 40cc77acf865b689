"""Define snippets of whole statements by their first word, with placeholders in the syntax of editors: `${1:name}`."""

from __future__ import annotations

SNIPPETS = {
    "include": "include ${1:standard};",
    "scope": "scope ${1:package}.**$2;",
    "send": "send ${1:module:function} key ${2:item} as ${3:channel};",
    "receive": "receive ${1:module:function} key ${2:item} as ${3:channel};",
    "join": "join finish ${1:module:function} key ${2:result} as ${3:channel};",
    "define": "define ${1:module:function} key ${2:item} as ${3:state};",
    "use": "use ${1:module:function} key ${2:item} as ${3:state};",
    "release": "release ${1:module:function} key ${2:id(this)} as ${3:lock};",
    "acquire": "acquire finish ${1:module:function} key ${2:id(this)} as ${3:lock};",
    "handle": "handle ${1:module:function} key ${2:item} as ${3:channel};",
    "request": "request ${1:module:function} as ${2:name};",
    "name": "name finish ${1:module:function} as (${2:value});",
    "inject": "inject ${1:module:function} into ${2:headers};",
    "extract": "extract ${1:module:function} from ${2:headers};",
    "payload": "payload ${1:module:function} value ${2:value} as ${3:name};",
    "resource": "resource ${1|taken,returned|} ${2:module:Pool.method} key ${3:this} item ${4:result} as ${5:pool};",
    "logs": "logs level ${1|DEBUG,INFO,WARNING,ERROR|};",
    "redact": 'redact "${1:password}";',
    "budget": "budget ${1:3}%;",
    "quota": "quota ${1:512}MB keep newest;",
    "sample": "sample ${1:10}%;",
    "output": "output none;",
    "record": "record writes;",
    "parameter": "parameter ${1:name} = ${2:value};",
    "level": "level ${1:component} = { ${2:label}: ${3:package.module} };",
    "entity": "entity ${1:Name} is ${2:module:Class} {\n    when finish __init__() -> position(this);$0\n}",
    "watch": "watch ${1:name} is this.${2:attribute};",
    "when": "when ${1|start,finish|} ${2:method}($3) -> ${4|position,communication,deletion|}(${5:this});",
}
